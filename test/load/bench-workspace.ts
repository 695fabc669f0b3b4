import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openLog } from '../../apps/worker/src/log.js';
import { type Backend, backends } from '../../apps/worker/src/workspace/layers/backends.js';
import { folderAt } from '../../apps/worker/src/workspace/owner-marker.js';
import { removeFolder } from '../../apps/worker/src/workspace/remove-folder.js';
import { openHome } from '../../apps/worker/src/workspace/worker-home.js';
import { Workspaces } from '../../apps/worker/src/workspace/workspaces.js';
import { bundleCheckout, bundleFor, captureWorkspace, importBundle, openStore } from '../../libs/git/src/index.js';
import { type Measured, pageOf, type Report, reportOf, type Skipped } from './report-workspace.js';
import { say } from './say.js';

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    files: { type: 'string', default: '20000' },
    /** Rounds per way, in turn; the median counts. */
    rounds: { type: 'string', default: '3' },
    /** Only ways whose name holds this. */
    only: { type: 'string', default: '' },
    /** Do not write docs/benchmarks-workspace.md. */
    dry: { type: 'boolean', default: false },
  },
});
const fileCount = Number(options.files);
const rounds = Number(options.rounds);

const person = { name: 'Bench', email: 'bench@example.test' };
const identity = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: person.name,
  GIT_AUTHOR_EMAIL: person.email,
  GIT_COMMITTER_NAME: person.name,
  GIT_COMMITTER_EMAIL: person.email,
};

async function main(): Promise<void> {
  const began = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'longshore-bench-'));
  const undo: (() => Promise<unknown>)[] = [() => removeFolder(folder)];
  try {
    const report = await bench(folder, undo);
    for (const [name, value] of Object.entries(report.ratios)) say(`${name}: ${value ?? 'not here'}`);
    if (!options.dry) {
      const seconds = (performance.now() - began) / 1000;
      await writeFile(join(import.meta.dirname, '../../docs/benchmarks-workspace.md'), pageOf(report, { seconds }));
    }
    if (options.json) process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function bench(folder: string, undo: (() => Promise<unknown>)[]): Promise<Report> {
  say(`a repository of ${fileCount} files`);
  const checkout = makeRepository(join(folder, 'checkout'));
  const store = await openStore(join(folder, 'store'));
  const { bundle } = await bundleCheckout({ dir: checkout, out: join(folder, 'source.bundle') });
  const { head } = await importBundle(store, bundle);
  const base = { base: head, bundle: await bundleFor(store, head) };
  const here = { ...base, root: join(folder, 'home') };
  const shared = sharingDisk(folder, undo);
  const ways: Way[] = [];
  const skipped: Skipped[] = [];
  for (const backend of backends) {
    const place = backend === 'reflink' ? shared : here.root;
    if (typeof place !== 'string') skipped.push({ way: backend, why: place.missing });
    else {
      const way = await oursBy(backend, { ...base, root: join(place, backend) }, undo);
      if ('why' in way) skipped.push(way);
      else ways.push(way);
    }
  }
  ways.push(worktree(checkout, join(folder, 'worktrees')), copy(checkout, join(folder, 'copies')));
  const wanted = ways.filter(({ name }) => name.includes(options.only));
  for (const { way, why } of skipped) say(`${way}: skipped, ${why}`);
  const measured: Measured[] = [];
  // all ways once before any counts, then in turn, so that none has the warm machine to itself
  for (let round = 0; round <= rounds; round += 1) {
    for (const way of wanted) {
      const times = await way.once(round);
      say(
        `${round === 0 ? 'first' : `round ${round}`} ${way.name}: ${Object.entries(times)
          .map(([step, ms]) => `${step} ${ms === null ? '–' : Math.round(ms)}`)
          .join(', ')} ms`,
      );
      measured.push({ way: way.name, cold: round === 0, ...times });
    }
  }
  return reportOf({ files: fileCount, measured, skipped });
}

interface Times {
  readonly prepare_ms: number;
  readonly status_ms: number;
  readonly capture_ms: number | null;
  readonly teardown_ms: number;
}

interface Way {
  readonly name: string;
  once(round: number): Promise<Times>;
}

async function oursBy(
  backend: Backend,
  { root, base, bundle }: { readonly root: string; readonly base: string; readonly bundle: string },
  undo: (() => Promise<unknown>)[],
): Promise<Way | Skipped> {
  const home = await openHome(root);
  const workspaces = await Workspaces.open({ home, allowed: [backend], log: openLog('silent') });
  undo.push(() => workspaces.close());
  const missing = workspaces.backends.find((proof) => proof.backend === backend)?.missing;
  if (missing !== undefined) return { way: backend, why: missing };
  return {
    name: backend,
    async once(round) {
      const at = folderAt(join(home.workspaces, `dispatch-${round}`));
      mkdirSync(at.path, { recursive: true });
      const prepare_ms = await timed(() =>
        workspaces.materialise({
          folder: at,
          base,
          name: 'bench',
          exclude: [],
          isolation: { required: [backend] },
          scope: { project: 'bench', origin: 'bench', sandbox: 'none' },
          bundle: async () => bundle,
          signal: new AbortController().signal,
        }),
      );
      const status_ms = await timed(() => status(at.work));
      change(at.work, round);
      const capture_ms = await timed(() =>
        captureWorkspace({ dir: at.work, gitDir: at.git, base, message: 'Work', author: person, when: new Date() }),
      );
      const teardown_ms = await timed(() => removeFolder(at.path));
      return { prepare_ms, status_ms, capture_ms, teardown_ms };
    },
  };
}

function worktree(checkout: string, parent: string): Way {
  mkdirSync(parent);
  return {
    name: 'git worktree add',
    async once(round) {
      const at = join(parent, String(round));
      const prepare_ms = await timed(() => plain(checkout, ['worktree', 'add', '--quiet', '--detach', at]));
      const status_ms = await timed(() => status(at));
      const teardown_ms = await timed(() => plain(checkout, ['worktree', 'remove', '--force', at]));
      return { prepare_ms, status_ms, capture_ms: null, teardown_ms };
    },
  };
}

function copy(checkout: string, parent: string): Way {
  mkdirSync(parent);
  return {
    name: 'cp -a',
    async once(round) {
      const at = join(parent, String(round));
      const prepare_ms = await timed(() => void execFileSync('cp', ['-a', checkout, at]));
      const status_ms = await timed(() => status(at));
      const teardown_ms = await timed(() => rmSync(at, { recursive: true }));
      return { prepare_ms, status_ms, capture_ms: null, teardown_ms };
    },
  };
}

async function timed(work: () => unknown): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}

/** As an agent runs it, and it must say nothing. */
function status(dir: string): void {
  const said = plain(dir, ['status', '--porcelain']);
  if (said !== '') throw new Error('a fresh workspace is not clean');
}

function plain(dir: string, args: readonly string[]): string {
  return execFileSync('git', args, { cwd: dir, env: identity, maxBuffer: 64 * 1024 ** 2 }).toString();
}

function change(dir: string, round: number): void {
  for (let n = 0; n < 6; n += 1) writeFileSync(join(dir, nameOf(n * 100)), `changed in round ${round}\n`);
}

const nameOf = (n: number): string => `d${Math.floor(n / 1000)}/s${Math.floor(n / 100) % 10}/file-${n}.txt`;

function makeRepository(dir: string): string {
  mkdirSync(dir);
  plain(dir, ['init', '-q', '-b', 'main']);
  // no gc of git's own in the middle of a measurement
  plain(dir, ['config', 'gc.auto', '0']);
  plain(dir, ['config', 'maintenance.auto', 'false']);
  for (let n = 0; n < fileCount; n += 1) {
    const path = join(dir, nameOf(n));
    if (n % 100 === 0) mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, `file ${n}\n${'some text that a source file could hold\n'.repeat(n % 60)}`);
  }
  plain(dir, ['add', '-A']);
  plain(dir, ['commit', '-q', '-m', 'Begin']);
  plain(dir, ['gc', '-q']);
  return dir;
}

/** A btrfs on a loop device, for what the file system of /tmp may not be able to do. */
function sharingDisk(folder: string, undo: (() => Promise<unknown>)[]): string | { readonly missing: string } {
  const [image, at] = [join(folder, 'image'), join(folder, 'btrfs')];
  try {
    writeFileSync(image, '');
    truncateSync(image, 2 * 1024 ** 3);
    mkdirSync(at);
    execFileSync('mkfs.btrfs', ['-q', image], { stdio: 'pipe' });
    execFileSync('mount', ['-o', 'loop', image, at], { stdio: 'pipe' });
  } catch (error) {
    return { missing: `no btrfs on a loop device here (${String(error).split('\n')[0]})` };
  }
  undo.push(async () => execFileSync('umount', ['-l', at], { stdio: 'pipe' }));
  return at;
}

await main();
