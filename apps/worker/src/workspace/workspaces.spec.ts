import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { bundleFor, captureWorkspace } from '#git';
import { agent, aSharedRound, type Round, when } from '../../../../test/support/git-round.js';
import { aLoopDisk } from '../../../../test/support/loop-disk.js';
import { filesAt, plainGit, read, writeFiles } from '../../../../test/support/repositories.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { openLog } from '../log.js';
import type { Backend } from './layers/backends.js';
import { mountsBeneath } from './layers/mounts.js';
import { type DispatchFolder, folderAt } from './owner-marker.js';
import { openHome, type WorkerHome } from './worker-home.js';
import { Workspaces, type WorkspaceWanted } from './workspaces.js';

const taskDirectory = '.longshore/t_00000000';
const overlayHere = process.platform === 'linux' && process.getuid?.() === 0;
/** Real mounts, where this machine lets us; said in the title where it does not. */
const itOnOverlay = overlayHere ? it : it.skip;
const btrfs = aLoopDisk('btrfs');
const opened: Workspaces[] = [];

afterEach(async () => {
  for (const workspaces of opened.splice(0)) await workspaces.close();
});
afterAll(() => {
  if ('path' in btrfs) btrfs.unmount();
});

describe('the ladder', () => {
  it('W11 says which backend was used and why the better ones were not', async () => {
    const { make } = await aMachine({ allowed: ['clone'] });
    const { isolation } = await make();
    expect(isolation).toMatchObject({
      requested: 'best',
      backend: 'clone',
      fell_back: true,
      reasons: [expect.stringMatching(/^overlay: .*owner/), expect.stringMatching(/^reflink: .*owner/)],
    });
    expect((await make({ isolation: { required: ['clone'] } })).isolation).toMatchObject({
      requested: 'clone',
      backend: 'clone',
      fell_back: false,
      reasons: [],
    });
  });

  it('W11 refuses by name where what is required is not here and nothing else may take its place', async () => {
    const { make, home } = await aMachine({ allowed: ['clone'] });
    for (const required of [['overlay'], ['overlay', 'reflink'], ['zfs']])
      await expect(make({ isolation: { required } })).rejects.toMatchObject({
        code: 'isolation_unavailable',
        detail: expect.stringContaining(required.join(', ')),
      });
    expect(await mountsBeneath(home.path)).toEqual([]);
  });

  it('W11 falls back where it is allowed, and reports the reason', async () => {
    const { make } = await aMachine({ allowed: ['clone'] });
    const { isolation, folder } = await make({ isolation: { required: ['overlay'], allow_fallback: true } });
    expect(isolation).toMatchObject({ requested: 'overlay', backend: 'clone', fell_back: true });
    expect(isolation.reasons).toContainEqual(expect.stringMatching(/^overlay: /));
    const unknown = await make({ isolation: { required: ['zfs'], allow_fallback: true } });
    expect(unknown.isolation).toMatchObject({
      requested: 'zfs',
      fell_back: true,
      reasons: expect.arrayContaining(['zfs: no worker knows it']),
    });
    expect(read(join(folder.work, 'a.txt'))).toBe('a\n');
  });

  it('W11 tells a file system that cannot share blocks from one that can, by trying', async () => {
    const { workspaces } = await aMachine();
    const reflink = workspaces.backends.find(({ backend }) => backend === 'reflink');
    const shares = canShareBlocks(tempDir());
    expect(reflink?.missing).toEqual(shares ? undefined : expect.stringContaining('cannot share blocks'));
  });
});

const everywhere: readonly (readonly [Backend, string | undefined])[] = [
  ['overlay', overlayHere ? undefined : 'overlay mounts need root on Linux'],
  ['reflink', 'missing' in btrfs ? btrfs.missing : undefined],
  ['clone', undefined],
];

describe.each(everywhere)('a workspace by %s', (backend, missing) => {
  // a skipped title says why
  const itHere = missing === undefined ? it : it.skip;
  const because = missing === undefined ? '' : ` (not tried: ${missing})`;
  const place = (): { readonly root?: string } =>
    backend === 'reflink' && 'path' in btrfs ? { root: btrfs.path } : {};

  itHere(`H32 shows a Task nothing of what another Task's postinstall did${because}`, async () => {
    const machine = await aMachine({ ...place(), allowed: [backend] });
    const setup = aSetup('mkdir -p node_modules/dep && echo clean > node_modules/dep/index.js');
    const first = await machine.make({ setup: setup.given });
    expect(first.isolation).toMatchObject({ backend, warm: false, setup: 'done' });
    // what a postinstall of Task A could do, with all the rights that it has in its workspace
    const { work } = first.folder;
    writeFileSync(join(work, 'node_modules/dep/index.js'), 'stolen\n');
    writeFileSync(join(work, 'node_modules/planted.js'), 'planted');
    writeFileSync(join(work, 'a.txt'), 'changed in place\n');
    rmSync(join(work, 'dir'), { recursive: true });
    writeFiles(work, { '.git/hooks/post-checkout': { run: '#!/bin/sh\ntouch sprung\n' } });
    plainGit(work, ['config', 'core.fsmonitor', 'touch sprung']);

    const second = await machine.make({ setup: setup.given });
    expect(second.isolation).toMatchObject({ backend, warm: true, setup: 'done' });
    expect(setup.ran()).toBe(1);
    expect(read(join(second.folder.work, 'node_modules/dep/index.js'))).toBe('clean\n');
    expect(read(join(second.folder.work, 'a.txt'))).toBe('a\n');
    expect(read(join(second.folder.work, 'dir/b.txt'))).toBe('b\n');
    for (const name of ['node_modules/planted.js', '.git/hooks', 'sprung'])
      expect(existsSync(join(second.folder.work, name))).toBe(false);
    expect(plainGit(second.folder.work, ['status', '--porcelain'])).toBe('');
    expect(plainGit(second.folder.work, ['config', '--local', '--list'])).not.toContain('fsmonitor');
  });

  itHere(`says what the setup command made and no workspace keeps, warm too${because}`, async () => {
    const ofSetup = (reasons: readonly string[]) => reasons.filter((reason) => reason.startsWith('setup: '));
    const machine = await aMachine({ ...place(), allowed: [backend] });
    const setup = aSetup('mkdir -p made node_modules && touch made/one made/two node_modules/dep');
    for (const warm of [false, true]) {
      const { isolation, folder } = await machine.make({ setup: setup.given });
      expect(isolation).toMatchObject({ warm, setup: 'done' });
      expect(ofSetup(isolation.reasons)).toEqual([expect.stringContaining('made/one, made/two.')]);
      expect(existsSync(join(folder.work, 'made/one'))).toBe(false);
      expect(existsSync(join(folder.work, 'node_modules/dep'))).toBe(true);
    }
    const { isolation } = await machine.make({ setup: aSetup('true').given });
    expect(ofSetup(isolation.reasons)).toEqual([]);
  });

  itHere(`H32 keys a template by project, origin, tree, command and sandbox${because}`, async () => {
    const machine = await aMachine({ ...place(), allowed: [backend] });
    const scope = { project: 'p', origin: 'https://git.example/app', sandbox: 'bwrap' };
    const command = 'echo x > node_modules.txt';
    const setup = aSetup(command);
    await machine.make({ scope, setup: setup.given });
    await machine.make({ scope, setup: setup.given });
    expect(setup.ran()).toBe(1);
    await machine.make({ scope: { ...scope, project: 'q' }, setup: setup.given });
    await machine.make({ scope: { ...scope, origin: 'https://git.example/other' }, setup: setup.given });
    await machine.make({ scope: { ...scope, sandbox: 'none' }, setup: setup.given });
    expect(setup.ran()).toBe(4);
    const another = aSetup(`${command} && true`);
    await machine.make({ scope, setup: another.given });
    expect(another.ran()).toBe(1);
    // another commit with the same tree stands on the same template
    const twin = plainGit(machine.round.store.dir, ['commit-tree', `${machine.round.base}^{tree}`, '-m', 'Twin']);
    const { folder } = await machine.make({ scope, setup: setup.given, base: twin });
    expect(setup.ran()).toBe(4);
    expect(plainGit(folder.work, ['rev-parse', 'HEAD'])).toBe(twin);
  });

  itHere(`H32 lays what git-lfs keeps for its own job alone, new, warm and kept${because}`, async () => {
    const content = 'the content itself'.repeat(1_000);
    const oid = createHash('sha256').update(content).digest('hex');
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${content.length}\n`;
    const files = { '.gitattributes': 'big.bin filter=lfs -text\n', 'big.bin': pointer };
    const machine = await aMachine({ ...place(), allowed: [backend], files });
    const path = join(tempDir('lfs'), oid);
    writeFileSync(path, content);
    const lfs = { oids: [oid], fileOf: async () => path };
    const setup = aSetup('cp big.bin node_modules.txt');
    const laid = async (more: Partial<WorkspaceWanted>) => {
      const { folder, base } = await machine.make({ setup: setup.given, ...more });
      expect(plainGit(folder.work, ['status', '--porcelain'])).toBe('');
      const capture = await captureWorkspace({
        dir: folder.work,
        gitDir: folder.git,
        base,
        message: 'Work',
        author: agent,
        when,
      });
      expect(capture.kind).toBe('no_changes');
      return { folder, big: read(join(folder.work, 'big.bin')), setup: read(join(folder.work, 'node_modules.txt')) };
    };
    const real = { big: content, setup: content };
    const first = await laid({ lfs, assignment: 'a_00000001' });
    expect(first).toMatchObject(real);
    expect(await laid({ lfs })).toMatchObject(real);
    expect(setup.ran()).toBe(1);
    // the same tree without them, as for a job that the farm gives none
    expect(await laid({})).toMatchObject({ big: pointer, setup: pointer });
    expect(setup.ran()).toBe(2);
    writeFiles(first.folder.work, { 'big.bin': 'changed' });
    expect(await machine.workspaces.letGo(first.folder, 'a_00000001')).toBe('kept');
    expect(await laid({ lfs, assignment: 'a_00000001' })).toMatchObject(real);
    expect(setup.ran()).toBe(2);
  });

  itHere(`H19 stands alone and is captured as it lies there${because}`, async () => {
    const machine = await aMachine({ ...place(), allowed: [backend] });
    const { folder, base } = await machine.make();
    const { work } = folder;
    expect(plainGit(work, ['symbolic-ref', 'HEAD'])).toBe('refs/heads/longshore/mender');
    expect(plainGit(work, ['status', '--porcelain'])).toBe('');
    for (const repository of [join(work, '.git'), folder.git])
      expect(readdirSync(join(repository, 'objects'), { recursive: true }).map(String)).not.toContainEqual(
        expect.stringContaining('alternates'),
      );
    // a folder of the layer below is renamed in one step, as programs expect
    renameSync(join(work, 'dir'), join(work, 'moved'));
    writeFiles(work, { 'new/deep.txt': 'new', 'a.txt': 'edited\n', 'run.sh': { run: '#!/bin/sh\n' } });
    rmSync(join(work, 'gone.txt'));
    symlinkSync('/etc/passwd', join(work, 'link'));
    plainGit(work, ['add', '-A']);
    plainGit(work, ['commit', '-q', '-m', 'Own work']);
    writeFileSync(join(work, 'moved/b.txt'), 'after the commit\n');
    const capture = await captureWorkspace({
      dir: work,
      gitDir: folder.git,
      base,
      message: 'Work',
      author: agent,
      when,
      taskDirectory,
    });
    if (capture.kind !== 'captured') throw new Error('nothing was captured');
    expect(Object.keys(filesAt(folder.git, capture.commit))).toEqual(
      ['.gitignore', 'a.txt', 'link', 'moved/b.txt', 'new/deep.txt', 'run.sh'].sort(),
    );
    expect(plainGit(folder.git, ['show', `${capture.commit}:moved/b.txt`])).toBe('after the commit');
    expect(capture.ownCommits).toBe(plainGit(work, ['rev-parse', 'HEAD']));
  });

  itHere(`H2 runs nothing that an agent planted, and loses nothing of nested repositories${because}`, async () => {
    const machine = await aMachine({ ...place(), allowed: [backend] });
    const { folder, base } = await machine.make();
    const { work } = folder;
    const sprung = join(tempDir('trap'), 'sprung');
    const trap = { run: `#!/bin/sh\ntouch ${sprung}\n` };
    writeFiles(work, { 'trap.sh': trap, '.git/hooks/post-index-change': trap, '.gitattributes': '* filter=trap\n' });
    for (const [key, value] of [
      ['core.fsmonitor', join(work, 'trap.sh')],
      ['filter.trap.clean', join(work, 'trap.sh')],
      ['filter.trap.smudge', join(work, 'trap.sh')],
    ] as const)
      plainGit(work, ['config', key, value]);
    for (const name of ['unborn', 'born']) {
      writeFiles(work, { [`${name}/kept.txt`]: name });
      plainGit(join(work, name), ['init', '-q']);
    }
    execFileSync('git', ['-C', join(work, 'born'), 'add', '-A']);
    plainGit(join(work, 'born'), ['commit', '-q', '-m', 'Nested']);
    const nestedHead = plainGit(join(work, 'born'), ['rev-parse', 'HEAD']);
    rmSync(sprung, { force: true });
    const capture = await captureWorkspace({
      dir: work,
      gitDir: folder.git,
      base,
      message: 'Work',
      author: agent,
      when,
      taskDirectory,
    });
    if (capture.kind !== 'captured') throw new Error('nothing was captured');
    expect(existsSync(sprung)).toBe(false);
    expect(plainGit(folder.git, ['show', `${capture.commit}:unborn/kept.txt`])).toBe('unborn');
    expect(plainGit(folder.git, ['show', `${capture.commit}:born/kept.txt`])).toBe('born');
    expect(capture.nested).toContainEqual({ path: 'born', head: nestedHead });
  });

  itHere(
    `is kept for its Assignment: dependencies stay warm, the base is new, nothing planted runs${because}`,
    async () => {
      const machine = await aMachine({ ...place(), allowed: [backend] });
      const setup = aSetup('mkdir -p node_modules && echo dep > node_modules/dep.js');
      const first = await machine.make({ assignment: 'asg_1', setup: setup.given });
      const sprung = join(tempDir('trap'), 'sprung');
      writeFiles(first.folder.work, {
        'node_modules/cache.bin': 'warm',
        'a.txt': 'work of the first\n',
        'scratch.txt': 'left behind',
        '.git/hooks/post-checkout': { run: `#!/bin/sh\ntouch ${sprung}\n` },
        [`${taskDirectory}/manifest.md`]: 'old',
      });
      expect(await machine.workspaces.letGo(first.folder, 'asg_1')).toBe('kept');
      expect(await mountsBeneath(join(machine.home.path, 'kept'))).toEqual([]);

      const base = plainGit(machine.round.store.dir, [
        'commit-tree',
        `${first.base}^{tree}`,
        '-p',
        first.base,
        '-m',
        'Next',
      ]);
      const stranger = await machine.make({ assignment: 'asg_2', setup: setup.given });
      expect(existsSync(join(stranger.folder.work, 'node_modules/cache.bin'))).toBe(false);
      const next = await machine.make({ assignment: 'asg_1', setup: setup.given, base });
      expect(next.isolation).toMatchObject({ backend, warm: true, setup: 'done' });
      const { work } = next.folder;
      expect(read(join(work, 'node_modules/cache.bin'))).toBe('warm');
      expect(read(join(work, 'node_modules/dep.js'))).toBe('dep\n');
      expect(read(join(work, 'a.txt'))).toBe('a\n');
      expect(plainGit(work, ['rev-parse', 'HEAD'])).toBe(base);
      expect(plainGit(work, ['status', '--porcelain'])).toBe('');
      for (const path of [
        join(work, 'scratch.txt'),
        join(work, '.git/hooks'),
        sprung,
        join(work, taskDirectory, 'manifest.md'),
      ])
        expect(existsSync(path)).toBe(false);
      // once: it is in use now
      expect((await machine.make({ assignment: 'asg_1', setup: setup.given })).isolation.warm).toBe(true);
      expect(setup.ran()).toBe(1);
    },
  );

  itHere(`goes on without the setup where that fails, and says so${because}`, async () => {
    const machine = await aMachine({ ...place(), allowed: [backend] });
    const failing = aSetup('echo half > node_modules.txt; exit 3');
    const { isolation, folder } = await machine.make({ setup: failing.given });
    expect(isolation).toMatchObject({
      backend,
      setup: 'failed',
      reasons: expect.arrayContaining(['setup: it ended with 3']),
      fell_back: backend !== 'overlay',
    });
    expect(existsSync(join(folder.work, 'node_modules.txt'))).toBe(false);
    expect(read(join(folder.work, 'a.txt'))).toBe('a\n');
    // nothing was frozen: the next one tries again
    await machine.make({ setup: failing.given });
    expect(failing.ran()).toBe(2);
  });

  itHere(`is made once for many that ask at the same moment${because}`, async () => {
    const machine = await aMachine({ ...place(), allowed: [backend] });
    const setup = aSetup('mkdir -p node_modules && echo dep > node_modules/dep.js');
    const made = await Promise.all([1, 2, 3].map(() => machine.make({ setup: setup.given })));
    expect(setup.ran()).toBe(1);
    for (const { folder } of made) expect(read(join(folder.work, 'node_modules/dep.js'))).toBe('dep\n');
    const failing = aSetup('exit 3');
    const without = await Promise.all([1, 2, 3].map(() => machine.make({ setup: failing.given })));
    expect(failing.ran()).toBe(1);
    expect(without.map(({ isolation }) => isolation.setup)).toEqual(['failed', 'failed', 'failed']);
  });
});

describe('above frozen layers', () => {
  it('are made by the next who waits where the first one is cancelled in the middle', async () => {
    const machine = await aMachine();
    const cancel = new AbortController();
    const begun = Promise.withResolvers<void>();
    const setup = {
      command: 'true',
      run: async (_: string, signal: AbortSignal) => {
        if (signal !== cancel.signal) return { ok: true } as const;
        begun.resolve();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return { ok: false, reason: 'ended' } as const;
      },
    };
    const first = machine.make({ setup, signal: cancel.signal });
    await begun.promise;
    const second = machine.make({ setup });
    cancel.abort(new Error('cancelled'));
    await expect(first).rejects.toThrow('cancelled');
    expect((await second).isolation.setup).toBe('done');
  });

  itOnOverlay('H32 a layer below never changes, nor can it be written by its path', async () => {
    const machine = await aMachine({ allowed: ['overlay'] });
    const { folder } = await machine.make();
    const [template] = readdirSync(machine.home.templates);
    const tree = join(machine.home.templates, template ?? '', 'tree');
    const before = lstatSync(join(tree, 'a.txt'));
    writeFileSync(join(folder.work, 'a.txt'), 'x\n');
    plainGit(folder.work, ['commit', '-q', '-am', 'Work']);
    expect(() => writeFileSync(join(tree, 'a.txt'), 'x')).toThrow(expect.objectContaining({ code: 'EROFS' }));
    const [repository] = readdirSync(machine.home.repositories);
    const layer = join(machine.home.repositories, repository ?? '', 'layer/.git/HEAD');
    expect(() => writeFileSync(layer, 'x')).toThrow(expect.objectContaining({ code: 'EROFS' }));
    const after = lstatSync(join(tree, 'a.txt'));
    expect([after.mtimeMs, after.ctimeMs, after.ino, after.size]).toEqual([
      before.mtimeMs,
      before.ctimeMs,
      before.ino,
      before.size,
    ]);
  });

  itOnOverlay('leaves a disk alone that the owner of the machine mounted for the worker', async () => {
    const root = tempDir('root');
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,mode=0700', 'tmpfs', root]);
    try {
      const home = await openHome(root);
      const workspaces = await Workspaces.open({ home, log: openLog('silent') });
      await workspaces.clearStale(() => false);
      await workspaces.close();
      expect(await mountsBeneath(root)).toEqual([root]);
    } finally {
      execFileSync('umount', ['-l', root]);
    }
  });

  itOnOverlay('is put together again after the machine went down under it', async () => {
    const machine = await aMachine({ allowed: ['overlay'] });
    const { folder } = await machine.make();
    writeFileSync(join(folder.work, 'a.txt'), 'half done\n');
    rmSync(join(folder.work, 'gone.txt'));
    execFileSync('umount', [folder.work]);
    const next = await Workspaces.open({ home: machine.home, log: openLog('silent') });
    await next.reopen(folder);
    expect(read(join(folder.work, 'a.txt'))).toBe('half done\n');
    expect(existsSync(join(folder.work, 'gone.txt'))).toBe(false);
    expect(read(join(folder.work, 'dir/b.txt'))).toBe('b\n');
  });

  itOnOverlay('W18 unmounts what a dead boot left, but not under whoever lives', async () => {
    const machine = await aMachine({ allowed: ['overlay'] });
    const [dead, living] = [await machine.make(), await machine.make()];
    mkdirSync(join(machine.home.templates, 'draft-half'));
    await machine.workspaces.clearStale((path) => path.startsWith(`${living.folder.path}/`));
    expect(await mountsBeneath(dead.folder.path)).toEqual([]);
    expect(await mountsBeneath(machine.home.path)).toEqual([living.folder.work]);
    expect(read(join(living.folder.work, 'a.txt'))).toBe('a\n');
    expect(existsSync(join(machine.home.templates, 'draft-half'))).toBe(false);
  });

  itOnOverlay('is one plain folder for people where it is set aside', async () => {
    const machine = await aMachine({ allowed: ['overlay'] });
    const { folder } = await machine.make();
    writeFileSync(join(folder.work, 'mine.txt'), 'mine');
    await machine.workspaces.makePlain(folder);
    expect(await mountsBeneath(folder.path)).toEqual([]);
    expect(readdirSync(folder.work).sort()).toEqual(['.git', '.gitignore', 'a.txt', 'dir', 'gone.txt', 'mine.txt']);
    expect(existsSync(folder.upper)).toBe(false);
  });
});

interface Machine {
  readonly home: WorkerHome;
  readonly round: Round;
  readonly workspaces: Workspaces;
  make(more?: Partial<WorkspaceWanted>): Promise<{
    readonly folder: DispatchFolder;
    readonly base: string;
    readonly isolation: Awaited<ReturnType<Workspaces['materialise']>>;
  }>;
}

interface MachineOptions {
  readonly root?: string;
  readonly allowed?: readonly Backend[];
  readonly files?: Readonly<Record<string, string>>;
}

async function aMachine({ root, allowed, files }: MachineOptions = {}): Promise<Machine> {
  const round = await aSharedRound({
    '.gitignore': 'node_modules/\nnode_modules.txt\n',
    'a.txt': 'a\n',
    'gone.txt': 'gone\n',
    'dir/b.txt': 'b\n',
    ...files,
  });
  const home = await openHome(root === undefined ? tempDir('home') : join(root, `home-${Math.random()}`));
  const workspaces = await Workspaces.open({
    home,
    log: openLog('silent'),
    ...(allowed === undefined ? {} : { allowed }),
  });
  opened.push(workspaces);
  let made = 0;
  return {
    home,
    round,
    workspaces,
    make: async (more = {}) => {
      const base = more.base ?? round.base;
      made += 1;
      const folder = folderAt(join(home.workspaces, `dispatch-${made}`));
      mkdirSync(folder.path, { recursive: true });
      const isolation = await workspaces.materialise({
        folder,
        base,
        name: 'mender',
        exclude: [taskDirectory],
        isolation: { required: [] },
        scope: { project: 'default', origin: 'test', sandbox: 'none' },
        bundle: () => bundleFor(round.store, base),
        signal: new AbortController().signal,
        ...more,
      });
      return { folder, base, isolation };
    },
  };
}

/** A setup command that is really run, and counted. */
function aSetup(command: string) {
  let count = 0;
  return {
    ran: () => count,
    given: {
      command,
      run: async (folder: string) => {
        count += 1;
        expect(plainGit(folder, ['status', '--porcelain'])).toBe('');
        try {
          execFileSync('/bin/sh', ['-c', command], { cwd: folder, stdio: 'pipe' });
          return { ok: true } as const;
        } catch (error) {
          const status = typeof error === 'object' && error !== null && 'status' in error ? String(error.status) : '?';
          return { ok: false, reason: `it ended with ${status}` } as const;
        }
      },
    },
  };
}

function canShareBlocks(folder: string): boolean {
  writeFileSync(join(folder, 'from'), 'x'.repeat(8192));
  try {
    execFileSync('cp', ['--reflink=always', 'from', 'to'], { cwd: folder, stdio: 'pipe' });
    return statSync(join(folder, 'to')).size === 8192;
  } catch {
    return false;
  }
}
