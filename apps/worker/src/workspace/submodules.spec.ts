import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { bundleFor, captureWorkspace, importBundle, pinSubmodules } from '#git';
import { agent, roundOf, when } from '../../../../test/support/git-round.js';
import { aRepository, plainGit, read, writeFiles } from '../../../../test/support/repositories.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { openLog } from '../log.js';
import type { Backend } from './layers/backends.js';
import { folderAt } from './owner-marker.js';
import { openHome } from './worker-home.js';
import { Workspaces, type WorkspaceWanted } from './workspaces.js';

jest.setTimeout(120_000);

const overlayHere = process.platform === 'linux' && process.getuid?.() === 0;
const opened: Workspaces[] = [];

afterEach(async () => {
  for (const workspaces of opened.splice(0)) await workspaces.close();
});

const everywhere: readonly (readonly [Backend, string | undefined])[] = [
  ['overlay', overlayHere ? undefined : 'overlay mounts need root on Linux'],
  ['clone', undefined],
];

describe.each(everywhere)('submodules in a workspace by %s', (backend, missing) => {
  const itHere = missing === undefined ? it : it.skip;
  const because = missing === undefined ? '' : ` (not tried: ${missing})`;

  itHere(
    `H32 are in layers of their own, before the setup command, and clean in each workspace${because}`,
    async () => {
      const { make, pin, commit } = await aMachine(backend);
      const setup = {
        command: 'cat libs/inner/inner.txt > built.txt',
        run: async (folder: string) => {
          if (existsSync(join(folder, 'libs/inner/inner.txt'))) writeFileSync(join(folder, 'built.txt'), 'with\n');
          else writeFileSync(join(folder, 'built.txt'), 'without\n');
          return { ok: true } as const;
        },
      };
      const without = await make({ setup });
      expect(read(join(without.work, 'built.txt'))).toBe('without\n');
      expect(existsSync(join(without.work, 'libs/inner/.git'))).toBe(false);
      for (let time = 1; time <= 2; time += 1) {
        const { work, capture } = await make({ setup, submodules: pin });
        expect(read(join(work, 'built.txt'))).toBe('with\n');
        expect(plainGit(work, ['status', '--porcelain'])).toBe('');
        const inner = join(work, 'libs/inner');
        expect(plainGit(inner, ['status', '--porcelain'])).toBe('');
        expect(plainGit(inner, ['rev-parse', 'HEAD'])).toBe(commit);
        expect(plainGit(inner, ['config', 'user.name'])).toBe('mender');
        expect(await capture()).toMatchObject({ kind: 'no_changes' });
        // what one Task leaves there is in no other Task's workspace
        writeFiles(inner, { 'inner.txt': 'changed in place\n', '.git/hooks/post-checkout': { run: '#!/bin/sh\n' } });
        expect(await capture()).toMatchObject({ kind: 'captured', nested: [{ path: 'libs/inner' }] });
      }
    },
  );

  itHere(`are laid in again where a workspace was kept for its Assignment${because}`, async () => {
    const { make, pin, workspaces } = await aMachine(backend);
    const wanted = { submodules: pin, assignment: 'a_00000001' };
    const first = await make(wanted);
    writeFiles(first.work, { 'libs/inner/inner.txt': 'changed\n', 'libs/inner/x.log': 'ignored\n' });
    plainGit(join(first.work, 'libs/inner'), ['config', 'core.fsmonitor', 'true']);
    expect(await workspaces.letGo(first.folder, wanted.assignment)).toBe('kept');
    const { work, capture } = await make(wanted);
    expect(read(join(work, 'libs/inner/inner.txt'))).toBe('inner\n');
    expect(read(join(work, 'libs/inner/x.log'))).toBe('ignored\n');
    expect(plainGit(join(work, 'libs/inner'), ['status', '--porcelain'])).toBe('');
    expect(plainGit(join(work, 'libs/inner'), ['config', '--local', '--list'])).not.toContain('fsmonitor');
    expect(await capture()).toMatchObject({ kind: 'no_changes' });
  });

  itHere(`stand beside the contents of git-lfs, new, warm and kept${because}`, async () => {
    const content = 'the content itself';
    const oid = createHash('sha256').update(content).digest('hex');
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${content.length}\n`;
    const { make, pin, workspaces } = await aMachine(backend, {
      '.gitattributes': 'big.bin filter=lfs -text\n',
      'big.bin': pointer,
    });
    const file = join(tempDir('lfs'), oid);
    writeFileSync(file, content);
    let ran = 0;
    const setup = {
      command: 'cat big.bin libs/inner/inner.txt > built.txt',
      run: async (folder: string) => {
        ran += 1;
        const inner = join(folder, 'libs/inner/inner.txt');
        writeFileSync(
          join(folder, 'built.txt'),
          read(join(folder, 'big.bin')) + (existsSync(inner) ? read(inner) : ''),
        );
        return { ok: true } as const;
      },
    };
    const laid = async (more: Partial<WorkspaceWanted>) => {
      const { folder, work, capture } = await make({ setup, ...more });
      expect(plainGit(work, ['status', '--porcelain'])).toBe('');
      expect(await capture()).toMatchObject({ kind: 'no_changes', lfsChanged: [] });
      return { folder, capture, built: read(join(work, 'built.txt')), big: read(join(work, 'big.bin')) };
    };
    const lfs = { oids: [oid], fileOf: async () => file };
    const both = { lfs, submodules: pin };
    // each is another template: what one Task is given is in no workspace of one that is not
    expect(await laid({})).toMatchObject({ built: pointer, big: pointer });
    expect(await laid({ lfs })).toMatchObject({ built: content, big: content });
    expect(await laid({ submodules: pin })).toMatchObject({ built: `${pointer}inner\n`, big: pointer });
    const first = await laid({ ...both, assignment: 'a_00000001' });
    expect(first).toMatchObject({ built: `${content}inner\n`, big: content });
    expect(await laid(both)).toMatchObject({ built: `${content}inner\n`, big: content });
    expect(ran).toBe(4);
    writeFiles(first.folder.work, { 'big.bin': 'changed', 'libs/inner/inner.txt': 'changed\n' });
    expect(await workspaces.letGo(first.folder, 'a_00000001')).toBe('kept');
    const again = await laid({ ...both, assignment: 'a_00000001' });
    expect(again).toMatchObject({ big: content });
    expect(read(join(again.folder.work, 'libs/inner/inner.txt'))).toBe('inner\n');

    writeFiles(again.folder.work, { 'big.bin': 'mine', 'libs/inner/inner.txt': 'mine too\n' });
    expect(await again.capture()).toMatchObject({
      lfsChanged: ['big.bin'],
      nested: [{ path: 'libs/inner' }],
    });
  });
});

type Files = Readonly<Record<string, string>>;
type Source = Awaited<ReturnType<typeof makeSource>>;
const sources = new Map<string, Promise<Source>>();

/** A Task's store whose base has one submodule: one for all tests with the same files, which only read from it. */
function aSource(files: Files): Promise<Source> {
  const key = JSON.stringify(files);
  const source = sources.get(key) ?? makeSource(files);
  sources.set(key, source);
  return source;
}

async function makeSource(files: Files) {
  const inner = aRepository({ 'inner.txt': 'inner\n', '.gitignore': '*.log\n' });
  const commit = plainGit(inner, ['rev-parse', 'HEAD']);
  const top = aRepository({ 'a.txt': 'a\n', '.gitignore': 'built.txt\n', ...files });
  plainGit(top, ['update-index', '--add', '--cacheinfo', `160000,${commit},libs/inner`]);
  plainGit(top, ['commit', '-q', '-m', 'Link']);
  mkdirSync(join(top, 'libs/inner'), { recursive: true });
  const { store, base } = await roundOf(top);
  const bundle = join(tempDir(), 'inner.bundle');
  plainGit(inner, ['bundle', 'create', '-q', bundle, 'HEAD']);
  await importBundle(store, bundle);
  const pin = await pinSubmodules(store, [commit]);
  if (pin === undefined) throw new Error('nothing was pinned');
  return { store, base, pin, commit };
}

/** A worker, and such a Task. */
async function aMachine(backend: Backend, files: Files = {}) {
  const { store, base, pin, commit } = await aSource(files);
  const home = await openHome(tempDir('home'));
  const workspaces = await Workspaces.open({ home, log: openLog('silent'), allowed: [backend] });
  opened.push(workspaces);
  let made = 0;
  const make = async (more: Partial<WorkspaceWanted>) => {
    made += 1;
    const folder = folderAt(join(home.workspaces, `dispatch-${made}`));
    mkdirSync(folder.path, { recursive: true });
    await workspaces.materialise({
      folder,
      base,
      name: 'mender',
      exclude: [],
      isolation: { required: [backend] },
      scope: { project: 'default', origin: 'test', sandbox: 'none' },
      bundle: () => bundleFor(store, base, { submodules: more.submodules !== undefined }),
      signal: new AbortController().signal,
      ...more,
    });
    const { work, git } = folder;
    const asked = { dir: work, gitDir: git, base, message: 'Work', author: agent, when };
    return { folder, work, capture: () => captureWorkspace(asked) };
  };
  return { make, pin, commit, workspaces };
}
