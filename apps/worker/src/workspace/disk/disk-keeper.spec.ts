import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { limits } from '#contracts';
import { bundleFor } from '#git';
import { aRound } from '../../../../../test/support/git-round.js';
import { aLoopDisk } from '../../../../../test/support/loop-disk.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { openLog } from '../../log.js';
import { folderAt } from '../owner-marker.js';
import { openHome } from '../worker-home.js';
import { Workspaces } from '../workspaces.js';
import { DiskKeeper } from './disk-keeper.js';

const opened: Workspaces[] = [];
const disk = aLoopDisk('ext4');
const itOnDisk = 'missing' in disk ? it.skip : it;
const because = 'missing' in disk ? ` (not tried: ${disk.missing})` : '';

afterEach(async () => {
  for (const workspaces of opened.splice(0)) await workspaces.close();
});
afterAll(() => {
  if ('path' in disk) disk.unmount();
});

describe("the worker's disk", () => {
  it('loses what nobody used for long, and nothing that a workspace stands on, live, kept or set aside', async () => {
    const { home, make, keeper, workspaces, said } = await aHome();
    const live = await make('live');
    const kept = await make('kept');
    await workspaces.letGo(kept, 'asg_kept');
    const unused = await make('unused');
    await workspaces.letGo(unused, undefined);
    const aMonth = Date.now() + 30 * 86_400_000;
    // the kept one is young by its file; all else is a month old
    utimesSync(join(home.kept, 'asg_kept', 'kept.json'), aMonth / 1000, aMonth / 1000);
    await keeper({ now: () => aMonth }).look();
    expect(readdirSync(home.templates)).toHaveLength(workspaces.backends[0]?.missing === undefined ? 2 : 0);
    expect(existsSync(join(live.work, 'a.txt'))).toBe(true);
    expect(readdirSync(home.kept)).toEqual(['asg_kept']);
    expect(said('dropped').map(({ what, why }) => `${what} ${why}`)).toContain('bundle age');

    const later = aMonth + limits.keptWorkspaceMs + limits.templateUnusedMs + 1;
    await keeper({ now: () => later }).look();
    await keeper({ now: () => later }).look();
    expect(readdirSync(home.kept)).toEqual([]);
    expect(readdirSync(home.templates)).toHaveLength(workspaces.backends[0]?.missing === undefined ? 1 : 0);
    expect(existsSync(join(live.work, 'a.txt'))).toBe(true);
  });

  it('gives kept workspaces back before the layers that all share, the longest unused first, down to the budget', async () => {
    const { home, make, keeper, workspaces, said } = await aHome();
    for (const name of ['old', 'young']) await workspaces.letGo(await make(name), `asg_${name}`);
    utimesSync(join(home.kept, 'asg_old', 'kept.json'), 1_700_000_000, 1_700_000_000);
    await keeper({ budgetBytes: 0, now: () => 1_700_000_001_000 }).look();
    const order = said('dropped').map(({ what }) => what);
    expect(said('dropped').map(({ key }) => key)).toEqual(expect.arrayContaining(['asg_old', 'asg_young']));
    expect(order.indexOf('kept')).toBeLessThan(
      order.indexOf('template') === -1 ? order.length : order.indexOf('template'),
    );
    expect(said('dropped').findIndex(({ key }) => key === 'asg_old')).toBeLessThan(
      said('dropped').findIndex(({ key }) => key === 'asg_young'),
    );
    expect(readdirSync(home.kept)).toEqual([]);
  });

  it('is short below its floor: the worker takes nothing and says so, until there is room again', async () => {
    const { keeper, said } = await aHome();
    const all = keeper({ floorBytes: Number.MAX_SAFE_INTEGER });
    await all.look();
    await all.look();
    expect(all.short).toBe('bytes');
    expect(said('disk')).toEqual([{ short: 'bytes' }]);
    const some = keeper({ floorBytes: 0 });
    await some.look();
    expect(some.short).toBeUndefined();
  });

  itOnDisk(`makes room on a full disk by itself before it gives up${because}`, async () => {
    if ('missing' in disk) return;
    const { home, make, keeper, workspaces } = await aHome(join(disk.path, 'home'));
    const folder = await make('big');
    execFileSync('dd', ['if=/dev/zero', `of=${join(folder.work, 'ignored.bin')}`, 'bs=1M', 'count=30'], {
      stdio: 'pipe',
    });
    await workspaces.letGo(folder, 'asg_big');
    const floorBytes = 35 * 1024 ** 2;
    const one = keeper({ floorBytes });
    await one.look();
    expect(one.short).toBeUndefined();
    expect(readdirSync(home.kept)).toEqual([]);
    writeFileSync(join(disk.path, 'of-somebody-else'), Buffer.alloc(20 * 1024 ** 2));
    await one.look();
    expect(one.short).toBe('bytes');
  });
});

async function aHome(path = tempDir('home')) {
  const round = await aRound({ '.gitignore': 'ignored*\n', 'a.txt': 'a\n' });
  const home = await openHome(path);
  const workspaces = await Workspaces.open({ home, log: openLog('silent') });
  opened.push(workspaces);
  const lines: { readonly event: string; readonly facts: Readonly<Record<string, unknown>> }[] = [];
  const make = async (name: string) => {
    const folder = folderAt(join(home.workspaces, name));
    mkdirSync(folder.path, { recursive: true });
    const bundle = join(home.bundles, `${round.base}.bundle`);
    await workspaces.materialise({
      folder,
      base: round.base,
      name: 'mender',
      exclude: [],
      isolation: { required: [] },
      scope: { project: 'default', origin: name, sandbox: 'none' },
      bundle: async () => {
        execFileSync('cp', [await bundleFor(round.store, round.base), bundle]);
        return bundle;
      },
      signal: new AbortController().signal,
    });
    return folder;
  };
  const keeper = (more: { floorBytes?: number; budgetBytes?: number; now?: () => number }) =>
    new DiskKeeper({
      home,
      workspaces,
      floorBytes: 0,
      budgetBytes: Number.MAX_SAFE_INTEGER,
      log: openLog('silent'),
      line: (event, facts) => lines.push({ event, facts }),
      ...more,
    });
  const said = (event: string) => lines.flatMap((one) => (one.event === event ? [one.facts] : []));
  return { home, workspaces, make, keeper, said };
}
