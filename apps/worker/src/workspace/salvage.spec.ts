import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { bundleFor } from '#git';
import { aWorker } from '../../../../test/support/a-worker.js';
import { spawnTracked } from '../../../../test/support/processes.js';
import { StandInController } from '../../../../test/support/stand-in-controller.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { Farm } from '../controller/farm.js';
import { openLog } from '../log.js';
import { markerEnvironment } from '../process/tree-marker.js';
import { findTrees } from '../process/tree-sweep.js';
import { materialise } from './materialise.js';
import { type DispatchFolder, folderAt, type OwnerMarker, writeMarker } from './owner-marker.js';
import { salvageDeadBoots } from './salvage.js';
import { openHome, startOf } from './worker-home.js';
import { Workspaces } from './workspaces.js';

describe('what a dead boot left', () => {
  it('W10 D11 H10 is brought up as a rescue before the next boot claims, and the job runs anew', async () => {
    const farm = await StandInController.open();
    const job = farm.add(`steps:
  - write: {path: half.txt, content: "half a day of work"}
  - say: here
  - hang: {deaf: true}
    when: {epoch: 1}
  - call: {operation: checkpoint, input: {outcome: green, summary: Done}}
`);
    const first = await aWorker(farm);
    await first.until('step', ({ text }) => text === 'here');
    first.process.signal('SIGKILL');
    await first.process.ended;
    await waitUntil(() => job.state === 'queued', { within: 20_000 });
    const requestsBefore = farm.heard.length;
    const second = await aWorker(farm, { home: first.home });
    await second.until('completed');

    const after = farm.heard.slice(requestsBefore).map(({ path }) => path);
    const firstPack = after.findIndex((path) => path.includes('/epochs/1/packs/'));
    expect(firstPack).toBeGreaterThan(-1);
    expect(firstPack).toBeLessThan(after.findIndex((path) => path.endsWith('job_claim')));
    expect(job.packs[0]).toMatchObject({ epoch: 1, how: 'rescue' });
    expect(show(farm, String(job.packs[0]?.commit), 'half.txt')).toBe('half a day of work');
    expect(job.epoch).toBe(2);
    expect(job.completed?.result.commit).toBe(job.packs[1]?.commit);
    expect(findTrees(farm.worker)).toEqual([]);
    await waitUntil(() => readdirSync(join(first.home, 'workspaces')).length === 0);
  });

  it('W18 stays with whoever lives, also under a pid that was given to another process', async () => {
    const { farm, home, salvage, leave } = await aHome();
    const living = await spawnTracked('sleep', ['600']);
    const started = startOf(living.pid) ?? '';
    const his = await leave({ pid: living.pid, started });
    const reused = await leave({ pid: living.pid, started: `${started}0` });
    await salvage();
    expect(readdirSync(home.workspaces)).toEqual([basename(his.path)]);
    expect(readFileSync(join(his.work, 'unmerged.txt'), 'utf8')).toBe('unmerged');
    expect([...farm.jobs.values()].flatMap(({ packs }) => packs)).toHaveLength(1);
    expect(show(farm, String(packsOf(farm, reused)[0]?.commit), 'unmerged.txt')).toBe('unmerged');
  });

  it('W18 spares the processes of whoever lives and ends those of the dead', async () => {
    const { home, salvage, leave, worker } = await aHome();
    const owner = await spawnTracked('sleep', ['600']);
    const his = await leave({ pid: owner.pid, started: startOf(owner.pid) ?? '' });
    const dead = await leave({});
    const env = (folder: DispatchFolder) => ({
      PATH: process.env.PATH ?? '',
      ...markerEnvironment({ worker, job: basename(folder.path).slice(0, 36), epoch: 1 }),
    });
    const spared = await spawnTracked('sleep', ['600'], { env: env(his) });
    const ended = await spawnTracked('sleep', ['600'], { env: env(dead) });
    await salvage();
    expect(await ended.ended).toBe('SIGKILL');
    expect(startOf(spared.pid)).toBeDefined();
    expect(readdirSync(home.workspaces)).toEqual([basename(his.path)]);
  });

  it('W18 is kept aside, whole, where it can not be captured or the farm does not keep it', async () => {
    const { farm, home, salvage, leave } = await aHome();
    const broken = await leave({});
    rmSync(broken.git, { recursive: true });
    const unkept = await leave({});
    const unmarked = await leave({});
    rmSync(unmarked.marker);
    farm.weather = ({ path }) =>
      path.includes(basename(unkept.path).slice(0, 36)) ? { problem: 'stale_lease' } : 'fine';
    await salvage();
    expect(readdirSync(home.workspaces)).toEqual([]);
    const aside = readdirSync(home.rescue);
    expect(aside).toHaveLength(3);
    for (const name of aside)
      expect(readFileSync(join(home.rescue, name, 'work', 'unmerged.txt'), 'utf8')).toBe('unmerged');
  });

  it('goes away where nothing was done in it, or the farm has it already', async () => {
    const { farm, home, salvage, leave } = await aHome();
    await leave({ stage: 'preparing' });
    await leave({ stage: 'settled' });
    mkdirSync(join(home.workspaces, 'made-and-nothing-more'));
    await salvage();
    expect(readdirSync(home.workspaces)).toEqual([]);
    expect(readdirSync(home.rescue)).toEqual([]);
    expect(farm.requests(/packs/)).toEqual([]);
  });

  it('is the same commit when it is salvaged again after an answer was lost', async () => {
    const { farm, salvage, leave } = await aHome();
    const left = await leave({});
    let cuts = 0;
    farm.weather = ({ path }) => (path.includes('/packs/') && cuts++ === 0 ? 'cut_after' : 'fine');
    await salvage();
    expect(new Set(packsOf(farm, left).map(({ commit }) => commit)).size).toBe(1);
  });
});

async function aHome() {
  const farm = await StandInController.open();
  const home = await openHome(tempDir('home'));
  const boot = randomUUID();
  const client = new Farm(farm.url, { token: async () => `worker-${boot}`, renew: async () => `worker-${boot}` });
  const worker = farm.worker;
  const bundle = await bundleFor(farm.store, await farm.base());
  const workspaces = await Workspaces.open({ home, log: openLog('silent') });
  const leave = async (change: Partial<OwnerMarker>): Promise<DispatchFolder> => {
    const job = farm.add('steps: []');
    const folder = folderAt(join(home.workspaces, `${job.id}-1`));
    mkdirSync(folder.path, { recursive: true });
    const task_directory = '.longshore/t_00000000';
    await materialise(
      workspaces,
      folder,
      {
        member_id: 'mender',
        base: job.base,
        task_directory,
        isolation: { required: [], allow_fallback: false },
      },
      { bundle: async () => bundle, signal: new AbortController().signal },
    );
    writeFileSync(join(folder.work, 'unmerged.txt'), 'unmerged');
    await writeMarker(folder, {
      worker,
      boot: randomUUID(),
      pid: 2 ** 22 - 7,
      started: '1',
      job: job.id,
      epoch: 1,
      lease_id: randomUUID(),
      tree_epoch: 1,
      job_token: 'over',
      stage: 'ready',
      title: 'A Task',
      member: 'mender',
      base: job.base,
      task_directory,
      include: [],
      ...change,
    });
    return folder;
  };
  const salvage = () =>
    salvageDeadBoots({ home, workspaces, worker, farm: client, log: openLog('silent'), line: () => undefined });
  return { farm, home, worker, leave, salvage };
}

function packsOf(farm: StandInController, folder: DispatchFolder) {
  return farm.jobs.get(basename(folder.path).slice(0, 36))?.packs ?? [];
}

function show(farm: StandInController, commit: string, path: string): string {
  return execFileSync('git', ['show', `${commit}:${path}`], { cwd: farm.store.dir }).toString();
}
