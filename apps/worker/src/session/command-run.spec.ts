import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { limits } from '#contracts';
import { aWorker, type TestWorker } from '../../../../test/support/a-worker.js';
import { oneWorker } from '../../../../test/support/one-worker.js';
import { aBundle, aRepository, bundleOf, type Content, plainGit } from '../../../../test/support/repositories.js';
import { StandInController, type StandInJob } from '../../../../test/support/stand-in-controller.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { findTrees } from '../process/tree-sweep.js';

const shared = oneWorker();
const sharedWithLittleDisk = oneWorker({ LONGSHORE_SESSION_DISK_MB: '40' });

type Files = Readonly<Record<string, Content>>;

/** The worker of this file, and a commit of these files at its farm. */
async function sharedWith(files?: Files, ask = shared) {
  const { farm, worker } = await ask();
  return { worker, ...(await withFiles(farm, files)) };
}

/** A farm that holds a commit of these files. */
async function aFarm(files?: Files) {
  return withFiles(await StandInController.open(), files);
}

async function withFiles(farm: StandInController, files: Files = { 'a.txt': 'a\n' }) {
  const base = await farm.base(aBundle(files));
  const shell = (command: string, more: { cwd?: string; timeout_seconds?: number } = {}): StandInJob =>
    farm.addCommand({ command: { kind: 'shell', command }, ...more }, base);
  const argv = (...words: string[]): StandInJob => farm.addCommand({ command: { kind: 'argv', argv: words } }, base);
  return { farm, base, shell, argv };
}

const saidBy = (job: Pick<StandInJob, 'output'>): string => [...job.output.values()].join('');
const resultOf = (job: StandInJob) => job.completed?.result;
const neverRun: Pick<StandInJob, 'output'> = { output: new Map() };
const startedBeat = (body: unknown, job: StandInJob): boolean =>
  [job.id, '"phase":"started"'].every((part) => JSON.stringify(body).includes(part));
const treesOf = (farm: StandInController, job: StandInJob) =>
  findTrees(farm.worker).filter((tree) => tree.job === job.id);
const leftOf = (worker: TestWorker, job: StandInJob) =>
  readdirSync(`${worker.home}/workspaces`).filter((name) => name.startsWith(job.id));

describe('a command on a worker', () => {
  it('runs on a clean tree of its commit, tells its exit code and what it said, and leaves nothing', async () => {
    const { farm, shell, worker } = await sharedWith({ 'a.txt': 'hello\n', 'sub/b.txt': 'b\n' });
    const job = shell('cat a.txt; git status --porcelain; pwd; echo wrong >&2; exit 3');
    const run = worker.of(job);
    await run.until('completed');
    expect(job.completed).toMatchObject({ ended: 'exited', result: { exit_code: 3 } });
    const path = String(run.events('workspace')[0]?.path);
    expect(saidBy(job).replace('wrong\n', '')).toBe(`hello\n${path}\n`);
    expect(saidBy(job)).toContain('wrong\n');
    const bytes = Buffer.byteLength(saidBy(job));
    expect(resultOf(job)).toMatchObject({
      output: { observed_bytes: bytes, written_bytes: bytes, complete: true },
      isolation: { backend: expect.any(String) },
    });
    await waitUntil(() => leftOf(worker, job).length === 0);
    expect(job.packs).toEqual([]);
    expect(treesOf(farm, job)).toEqual([]);
  });

  it('runs a program with its arguments as they are, in a folder of the workspace', async () => {
    const { farm, argv, base } = await sharedWith({ 'sub/b.txt': 'b\n' });
    const plain = argv('printf', '%s|', 'one two', '$HOME', '`id`');
    const beneath = farm.addCommand({ command: { kind: 'argv', argv: ['ls'] }, cwd: 'sub' }, base);
    await waitUntil(() => plain.completed !== undefined && beneath.completed !== undefined, { within: 30_000 });
    expect(saidBy(plain)).toBe('one two|$HOME|`id`|');
    expect(saidBy(beneath)).toBe('b.txt\n');
  });

  it('H21 refuses a working directory that is missing, no folder, or reached through a symlink', async () => {
    const { shell } = await sharedWith({
      'a.txt': 'a\n',
      out: { link: '/etc' },
      'sub/up': { link: '..' },
    });
    const jobs = ['missing', 'a.txt', 'out', 'sub/up'].map((cwd) => shell('echo ran', { cwd }));
    await waitUntil(() => jobs.every((job) => job.failed !== undefined), { within: 30_000 });
    for (const job of jobs) {
      expect(job.failed).toMatchObject({ reason: 'prepare_failed', retryable: false });
      expect(job.failed?.detail).toContain('invalid_task_path');
      expect(saidBy(job)).toBe('');
    }
  });

  it('H8 spawns nothing before the farm has answered that the command is started', async () => {
    const { farm, shell, worker } = await sharedWith();
    const job = shell('echo ran');
    let cut = 0;
    // The farm commits the start; its answers are lost on the way, as often as the worker asks.
    farm.leaseMs = 6_000;
    farm.weather = ({ path, body }) => {
      if (!path.endsWith('job_heartbeat') || !startedBeat(body, job) || cut >= 3) return 'fine';
      cut += 1;
      expect(saidBy(job)).toBe('');
      return 'cut_after';
    };
    const run = worker.of(job);
    await run.until('completed');
    expect(cut).toBe(3);
    const began = run.events('started')[0];
    expect(began).toBeDefined();
    expect(saidBy(job)).toBe('ran\n');
  });

  it('H8 never runs a command whose machine was killed between its start and its process', async () => {
    const { farm, shell } = await aFarm();
    const mark = join(tempDir('mark'), 'ran');
    const job = shell(`echo ran >> ${mark}`);
    farm.weather = ({ path, body }) =>
      path.endsWith('job_heartbeat') && startedBeat(body, job) ? 'cut_after' : 'fine';
    const worker = await aWorker(farm);
    await waitUntil(() => job.phase === 'started', { within: 20_000 });
    worker.process.signal('SIGKILL');
    await worker.process.ended;
    farm.weather = () => 'fine';
    await waitUntil(() => job.state === 'dead', { within: 20_000 });
    const again = await aWorker(farm, { home: worker.home });
    await waitUntil(() => readdirSync(`${again.home}/workspaces`).length === 0);
    expect([existsSync(mark), job.epoch, job.completed]).toEqual([false, 1, undefined]);
    expect(farm.requests(/\/packs\//)).toEqual([]);
  });

  it('H8 lets nothing of a command run on whose worker was killed, and starts it nowhere again', async () => {
    const { farm, shell } = await aFarm();
    const mark = join(tempDir('mark'), 'ran');
    const job = shell(`echo ran >> ${mark}; echo here; sleep 600`);
    const worker = await aWorker(farm);
    await waitUntil(() => saidBy(job) === 'here\n', { within: 20_000 });
    worker.process.signal('SIGKILL');
    await waitUntil(() => findTrees(farm.worker).length === 0, { within: 20_000 });
    await waitUntil(() => job.state === 'dead', { within: 20_000 });
    await aWorker(farm, { home: worker.home });
    expect([readFileSync(mark, 'utf8'), job.epoch]).toEqual(['ran\n', 1]);
  });

  it('ends the whole tree at its time, gently first, and tells what it had said', async () => {
    const { farm, shell, worker } = await sharedWith();
    const job = shell('trap "echo told; exit 0" TERM; (trap "" TERM; sleep 600) & echo begun; wait', {
      timeout_seconds: 1,
    });
    await worker.of(job).until('completed');
    expect(job.completed?.ended).toBe('timed_out');
    expect(saidBy(job)).toBe('begun\ntold\n');
    expect(treesOf(farm, job)).toEqual([]);
  });

  it('ends with its own process: what that left behind is ended, and a pipe that it holds open is no reason to wait', async () => {
    const { farm, shell, worker } = await sharedWith();
    const job = shell('(sleep 600; echo late) & echo done');
    await worker.of(job).until('completed');
    expect([job.completed?.ended, saidBy(job)]).toEqual(['exited', 'done\n']);
    expect(treesOf(farm, job)).toEqual([]);
  });

  it('ends a command that fills the disk, and tells the limit and the way out', async () => {
    const { shell, worker } = await sharedWith(undefined, sharedWithLittleDisk);
    const job = shell('head -c 60000000 /dev/zero > heap; sync; sleep 300');
    await worker.of(job).until('completed');
    expect(job.completed).toMatchObject({
      ended: 'exited',
      result: { signal: 'SIGKILL', detail: expect.stringMatching(/40 MB .*session_mb/) },
    });
  });

  it('ends a cancelled command, and does not hear that its Task is paused', async () => {
    const { shell } = await sharedWith();
    const [cancelled, paused] = [shell('echo a; sleep 600'), shell('echo b; sleep 1; echo c')];
    paused.end = { kind: 'pause', reason: 'paused' };
    await waitUntil(() => saidBy(cancelled) === 'a\n', { within: 20_000 });
    cancelled.end = { kind: 'cancel', reason: 'cancelled' };
    await waitUntil(() => cancelled.completed !== undefined && paused.completed !== undefined, { within: 20_000 });
    expect(cancelled.completed).toMatchObject({ ended: 'cancelled' });
    expect([paused.completed?.ended, saidBy(paused)]).toEqual(['exited', 'b\nc\n']);
  });

  it('D15 waits in a drain for a command that was started, and gives back one that was not', async () => {
    const { farm, shell } = await aFarm();
    const job = shell('echo a; sleep 2; echo b');
    const worker = await aWorker(farm);
    await waitUntil(() => saidBy(job) === 'a\n', { within: 20_000 });
    worker.process.signal('SIGTERM');
    expect(await worker.process.ended).toBe(0);
    expect([job.completed?.ended, saidBy(job)]).toEqual(['exited', 'a\nb\n']);

    const second = await aFarm();
    const unstarted = second.shell('echo never');
    second.farm.weather = ({ path }) => (/\/bundle/.test(path) ? { lateMs: 60_000 } : 'fine');
    const other = await aWorker(second.farm);
    await waitUntil(() => second.farm.requests(/\/bundle/).length > 0, { within: 20_000 });
    other.process.signal('SIGTERM');
    expect(await other.process.ended).toBe(0);
    expect(unstarted.failed).toMatchObject({ reason: 'job_error', retryable: true });
  });

  it('H28 runs the command of a Task that an agent worked on behind the walls of that agent', async () => {
    const { farm, base, worker } = await sharedWith();
    const secret = `${worker.home}/identity.json`;
    const [plain, walled] = ['scripted', 'claude'].map((provider) =>
      farm.addCommand(
        {
          command: {
            kind: 'shell',
            command: `cat ${secret} /proc/${worker.process.pid}/environ 2>/dev/null | wc -c; cat a.txt; echo b > b.txt && echo wrote`,
          },
        },
        base,
        provider,
      ),
    );
    await waitUntil(() => plain?.completed !== undefined && walled?.completed !== undefined, { within: 40_000 });
    expect(readFileSync(secret, 'utf8').length).toBeGreaterThan(10);
    expect(saidBy(plain ?? neverRun)).not.toMatch(/^ *0\n/);
    expect(saidBy(walled ?? neverRun)).toMatch(/^ *0\na\nwrote\n$/);
  });

  it('H28 H11 gives the command of such a Task back where there are no walls, and nothing runs', async () => {
    const { farm, base } = await aFarm();
    const job = farm.addCommand({ command: { kind: 'shell', command: 'echo ran' } }, base, 'claude');
    await aWorker(farm, { env: { LONGSHORE_SANDBOX: 'none' } });
    await waitUntil(() => job.failed !== undefined, { within: 20_000 });
    expect(job.failed).toMatchObject({ reason: 'environment', retryable: true });
    expect(saidBy(job)).toBe('');
  });

  const repository = {
    name: 'app',
    project: 'default',
    origin: 'https://git.example.test/team/app',
    verify: null,
    egress: [],
  };

  it.each(['scripted', 'claude'])(
    'H32 stands on what the setup command of the repository left, for %s, with its environment and secrets inside only',
    async (provider) => {
      const { farm, base, worker } = await sharedWith({ 'a.txt': 'a\n', '.gitignore': 'modules/\n' });
      farm.repository = {
        ...repository,
        setup: 'mkdir modules && echo "$MODE $API_KEY" > modules/made && echo stray > stray.txt',
        environment: { MODE: "it's", PATH: '/nowhere', LD_PRELOAD: '/no/such.so' },
        secrets: { API_KEY: 'secret-canary' },
      };
      const job = farm.addCommand(
        { command: { kind: 'shell', command: 'cat modules/made; ls; echo "$MODE $API_KEY" | wc -c' } },
        base,
        provider,
      );
      await worker.of(job).until('completed');
      expect(saidBy(job).replace(/^.*LD_PRELOAD.*\n/gm, '')).toMatch(/^it's \*\*\*\na\.txt\nmodules\n *19\n$/);
      expect(resultOf(job)).toMatchObject({ exit_code: 0, isolation: { setup: 'done' } });
      expect(JSON.stringify([worker.events(), job.completed]) + worker.process.stderr()).not.toContain('secret-canary');
    },
  );

  it('H32 stands on no template that was made with another environment, secret or egress list', async () => {
    const { farm, base, worker } = await sharedWith({ 'a.txt': 'a\n', '.gitignore': 'made\n' });
    const first = {
      ...repository,
      setup: 'echo "$MODE $(echo "$API_KEY" | wc -c)" > made',
      environment: { MODE: 'one' },
      secrets: { API_KEY: 'secret' },
    };
    const results: unknown[] = [];
    const made: string[] = [];
    for (const change of [
      {},
      {},
      { environment: { MODE: 'two' } },
      { secrets: { API_KEY: 'longer-secret' } },
      { egress: ['registry.example'] },
    ]) {
      farm.repository = { ...first, ...change };
      const job = farm.addCommand({ command: { kind: 'shell', command: 'cat made' } }, base);
      await worker.of(job).until('completed');
      made.push(saidBy(job));
      results.push(resultOf(job));
    }
    expect(made).toEqual(['one 7\n', 'one 7\n', 'two 7\n', 'one 14\n', 'one 7\n']);
    expect(results).toMatchObject([false, true, false, false, false].map((warm) => ({ isolation: { warm } })));
  });

  it('finds the submodules of its tree checked out, and clean', async () => {
    const inner = aRepository({ 'inner.txt': 'inner\n' });
    const top = aRepository({ 'a.txt': 'a\n' });
    plainGit(top, [
      'update-index',
      '--add',
      '--cacheinfo',
      `160000,${plainGit(inner, ['rev-parse', 'HEAD'])},libs/inner`,
    ]);
    plainGit(top, ['commit', '-q', '-m', 'Link']);
    const farm = await StandInController.open();
    const submodules = await farm.submodule(bundleOf(inner));
    farm.repository = { ...repository, setup: null, environment: {}, secrets: {}, submodules };
    const job = farm.addCommand(
      { command: { kind: 'shell', command: 'cat libs/inner/inner.txt; git status -s; git -C libs/inner status -s' } },
      await farm.base(bundleOf(top)),
    );
    await (await aWorker(farm)).until('completed');
    expect(saidBy(job)).toBe('inner\n');
  });

  it('runs on the bare tree where the setup command fills the disk, and says so', async () => {
    const { farm, base, worker } = await sharedWith(undefined, sharedWithLittleDisk);
    farm.repository = {
      ...repository,
      environment: {},
      secrets: {},
      setup: 'head -c 60000000 /dev/zero > heap; sync; sleep 300',
    };
    const job = farm.addCommand({ command: { kind: 'shell', command: 'ls' } }, base);
    await worker.of(job).until('completed');
    const reasons = [expect.stringMatching(/40 MB .*session_mb/)];
    expect(resultOf(job)).toMatchObject({ exit_code: 0, isolation: { setup: 'failed', reasons } });
    expect(saidBy(job)).toBe('a.txt\n');
  });

  it('H35 says that the setup command failed, and why, without a secret, and runs on the bare tree', async () => {
    const { farm, shell, worker } = await sharedWith();
    farm.repository = {
      ...repository,
      setup: 'echo no network $KEY >&2; printf "coloured secret-\\033[31mcanary\\n"; exit 9',
      environment: {},
      secrets: { KEY: 'secret-canary' },
    };
    const job = shell(
      'cat a.txt; printf "secret-\\033[1mcanary"; printf "secret-" >&2; sleep 0.1; printf "canary" >&2',
    );
    await worker.of(job).until('completed');
    const { isolation, tail } = resultOf(job) ?? {};
    expect(tail).toBe('a\n******');
    expect(JSON.stringify([worker.events(), job.completed]) + worker.process.stderr()).not.toContain('canary');
    expect(isolation).toMatchObject({ setup: 'failed' });
    expect(JSON.stringify(isolation)).toContain('no network ***');
    expect(JSON.stringify(isolation)).toContain('coloured ***');
  });

  it('tells a program that is not there from one that failed', async () => {
    const { argv, worker } = await sharedWith();
    const job = argv('/no/such/program');
    await worker.of(job).until('completed');
    expect(job.completed?.ended).toBe('launch_failed');
    expect(String(resultOf(job)?.detail)).toContain('could not be started');
  });

  it('H17 has brought up all that was said when it tells the end, with the end of it as plain text', async () => {
    const { farm, shell, worker } = await sharedWith();
    const job = shell(
      'i=0; while [ $i -lt 60000 ]; do echo "line $i of many that a build says"; i=$((i+1)); done; printf "\\033[31mred\\033[0m\\000\\n"',
    );
    farm.weather = ({ path }) => (/\/output\//.test(path) ? { lateMs: 50 } : 'fine');
    await worker.of(job).until('completed');
    const output = saidBy(job);
    expect(resultOf(job)).toMatchObject({
      output: { observed_bytes: output.length, written_bytes: output.length, complete: true },
    });
    expect(output.split('\n')).toHaveLength(60_002);
    const tail = String(resultOf(job)?.tail);
    expect(tail.endsWith('line 59999 of many that a build says\nred\n')).toBe(true);
    expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(limits.commandTailBytes);
  });

  it('H17 goes on to its end when the farm takes no more of what it says: it is drained, and told not to be complete', async () => {
    const { farm, shell, worker } = await sharedWith();
    const job = shell("yes 'a line of many' | head -c 20000000; echo last; exit 4");
    farm.weather = ({ path }) => (/\/output\/([2-9]|1\d)$/.test(path) ? { problem: 'too_large' } : 'fine');
    await worker.of(job).until('completed');
    const stored = saidBy(job);
    expect([...job.output.keys()]).toEqual(['1/0', '1/1']);
    expect(job.completed).toMatchObject({
      ended: 'exited',
      result: {
        exit_code: 4,
        output: { observed_bytes: 20_000_005, written_bytes: stored.length, complete: false },
        detail: expect.stringMatching(/^Not all of its output is stored: /),
      },
    });
    expect(String(resultOf(job)?.tail).endsWith('last\n')).toBe(true);
  });

  it('H17 is stored up to the first segment that is missing, whatever came after it', async () => {
    const { farm, shell, worker } = await sharedWith();
    const job = shell("yes 'a line of many' | head -c 8000000");
    let refused = 0;
    farm.weather = ({ path }) => {
      if (!path.endsWith('/output/1') || refused > 0) return 'fine';
      refused += 1;
      return { problem: 'conflict' };
    };
    await worker.of(job).until('completed');
    expect(resultOf(job)).toMatchObject({
      output: { observed_bytes: 8_000_000, written_bytes: limits.outputSegmentBytes, complete: false },
    });
  });
});
