import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { limits } from '#contracts';
import { aWorker, type TestWorker } from '../../../../test/support/a-worker.js';
import { oneWorker } from '../../../../test/support/one-worker.js';
import { aBundle } from '../../../../test/support/repositories.js';
import { type Heard, StandInController, type StandInJob } from '../../../../test/support/stand-in-controller.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { ProcessTree } from '../process/process-tree.js';
import { findTrees } from '../process/tree-sweep.js';

const green = '- call: {operation: checkpoint, input: {outcome: green, summary: Done}}';
const script = (...steps: readonly string[]): string => `steps:\n${steps.map((step) => `  ${step}\n`).join('')}`;

const shared = oneWorker();

describe('a Dispatch on a worker', () => {
  it('is claimed, run, captured, uploaded and completed, and its workspace goes after the answer', async () => {
    const farm = await StandInController.open();
    const job = farm.add(
      script('- write: {path: hello.txt, content: "Hello\\n"}', '- usage: {input_tokens: 7}', green),
    );
    const worker = await aWorker(farm);
    const completed = await worker.until('completed');

    expect(completed).toMatchObject({ job: job.id, epoch: 1, ended: 'handover', state: 'done' });
    expect(job.completed).toMatchObject({
      ended: 'handover',
      result: {
        handover: { call_id: farm.calls[0]?.callId },
        usage: { input_tokens: 7 },
        isolation: { backend: expect.stringMatching(/^(overlay|reflink|clone)$/) },
      },
    });
    expect(show(farm, job, 'hello.txt')).toBe('Hello\n');
    expect([...job.output.values()].join('')).toContain('"type":"session"');
    const phases = ['claimed', 'workspace', 'started', 'handover', 'stopped', 'captured', 'uploaded', 'completed'];
    const said = worker.events().map(({ event }) => String(event));
    expect(said.filter((event) => phases.includes(event))).toEqual(phases);
    await waitUntil(() => readdirSync(`${worker.home}/workspaces`).length === 0);
    worker.process.signal('SIGTERM');
    expect(await worker.process.ended).toBe(0);
  });

  it('says why a session failed, cut to what the farm takes, and hands its work in', async () => {
    const { farm, worker } = await shared();
    const detail = JSON.stringify('so long 😀'.repeat(2_000));
    const job = farm.add(script('- write: {path: a.txt, content: a}', `- fail: {class: crash, detail: ${detail}}`));
    await worker.of(job).until('completed');
    const said = String(job.completed?.result.detail);
    expect(said).toMatch(/^so long /);
    expect(Buffer.byteLength(said)).toBeLessThanOrEqual(limits.failDetailBytes);
    expect(names(farm, job)).toEqual(['a.txt']);
  });

  it('leaves nothing of a workspace whose folders lie deeper than a path may be long', async () => {
    const { farm, worker } = await shared();
    const nest =
      'mkdir -p .gone/x; cd .gone; n=$(printf "d%.0s" $(seq 200)); for i in $(seq 30); do mkdir $n; cd -P $n; done';
    const job = farm.add(script(`- run: ${JSON.stringify(`echo .gone > .gitignore; bash -c '${nest}'`)}`, green));
    await worker.of(job).until('completed');
    await waitUntil(() => leftOf(worker, job, 'workspaces').length === 0);
    expect(leftOf(worker, job, 'rescue')).toEqual([]);
  });

  it('D7 names no commit and sends no pack where nothing changed', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(script('- say: nothing to do', green));
    await worker.of(job).until('completed');
    expect(job.completed?.result.commit).toBeUndefined();
    expect(job.packs).toEqual([]);
  });

  it('W15 captures nothing that a grandchild writes after the end, and leaves no process', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(
      script(
        '- write: {path: kept.txt, content: "kept"}',
        '- grandchild: {ignore_term: true, writes: late.txt}',
        green,
      ),
    );
    await worker.of(job).until('completed');
    expect(names(farm, job)).toEqual(['kept.txt']);
    expect(treesOf(farm, job)).toEqual([]);
  });

  it('is reminded three times in its own session, then ends silent with its work', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(`${script('- write: {path: half.txt, content: half}')}on_reminder:\n  - say: I go on\n`);
    const run = worker.of(job);
    await run.until('completed');
    expect(run.events('reminded').map(({ count }) => count)).toEqual([1, 2, 3]);
    expect(run.events('started')).toHaveLength(1);
    expect(job.completed?.ended).toBe('silent');
    expect(names(farm, job)).toEqual(['half.txt']);
  });

  it('is reminded after a turn that failed, too', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(`${script('- run: {command: "false", must_pass: true}')}on_reminder:\n  ${green}\n`);
    const run = worker.of(job);
    await run.until('completed');
    expect(run.events('reminded')).toHaveLength(1);
    expect(job.completed?.ended).toBe('handover');
  });

  it('hands over in the turn of a reminder', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(`${script('- say: done, I think')}on_reminder:\n  ${green}\n`);
    await worker.of(job).until('completed');
    expect(job.completed?.ended).toBe('handover');
  });

  it('D6 ends silent a session that gives no sign of life', async () => {
    const farm = await StandInController.open();
    const job = farm.add(script('- write: {path: a.txt, content: a}', '- hang'));
    await (await aWorker(farm, { env: { LONGSHORE_SILENCE_MS: '5000' } })).until('completed');
    expect(job.completed).toMatchObject({ ended: 'silent' });
    expect(names(farm, job)).toEqual(['a.txt']);
  });

  it('captures the work of a crashed session and says that it crashed', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(script('- write: {path: a.txt, content: a}', '- crash'));
    await worker.of(job).until('completed');
    expect(job.completed).toMatchObject({ ended: 'crashed' });
    expect(names(farm, job)).toEqual(['a.txt']);
  });

  it('H20 captures what the repository ignores where a member names it or made it an artifact, and counts the rest', async () => {
    const { farm, worker } = await shared();
    const directory = '.longshore/t_00000000';
    const job = farm.add(
      script(
        '- write: {path: .gitignore, content: "dist/\\n*.log\\n"}',
        '- write: {path: dist/report.md, content: report}',
        '- write: {path: dist/other.md, content: other}',
        `- write: {path: ${directory}/artifacts/worker/run.log, content: log}`,
        `- write: {path: ${directory}/notes/worker/note.md, content: note}`,
        '- call: {operation: checkpoint, input: {outcome: green, summary: Done, files: [{path: dist/report.md}]}}',
      ),
    );
    await worker.of(job).until('completed');
    expect(names(farm, job)).toEqual(['.gitignore', `${directory}/artifacts/worker/run.log`, 'dist/report.md']);
    expect(job.completed?.result.ignored).toMatchObject({ files: 1 });
  });

  it('H11 sends a Dispatch elsewhere whose provider this machine lacks', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(script(green), await farm.base(), 'unheard-of');
    await worker.of(job).until('failed');
    expect(job.failed).toMatchObject({ reason: 'environment', retryable: true });
  });

  it('D3 tells a rate limit from a crash, with the time to wait', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(script('- fail: {class: rate_limit, retry_after_ms: 4000}'));
    await worker.of(job).until('completed');
    expect(job.completed).toMatchObject({ ended: 'limited', result: { retry_after_ms: 4000 } });
  });

  it('gives back what the provider refused to start', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(script('- fail: {class: crash, refuse_start: true}'));
    await worker.of(job).until('failed');
    expect(job.failed).toMatchObject({ reason: 'provider_start', retryable: true });
    expect(job.completed).toBeUndefined();
  });

  it('D3 tells an account that is overloaded before it starts from a provider that refuses', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(script('- fail: {class: overload, refuse_start: true}'));
    await worker.of(job).until('completed');
    expect(job.completed).toMatchObject({ ended: 'limited' });
    expect(job.failed).toBeUndefined();
  });

  it('H11 blames the machine and not the job where the login is gone', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(script('- fail: {class: auth, refuse_start: true}'));
    await worker.of(job).until('failed');
    expect(job.failed).toMatchObject({ reason: 'environment', retryable: true });
  });

  it('P3 P4 ends a cancelled session with its deaf processes, and still brings its work up', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(script('- write: {path: a.txt, content: a}', '- say: here', '- hang: {deaf: true}'));
    const run = worker.of(job);
    await run.until('step', ({ text }) => text === 'here');
    job.end = { kind: 'cancel', reason: 'by a person' };
    await run.until('completed');
    expect(job.completed).toMatchObject({ ended: 'cancelled' });
    expect(job.state).toBe('cancelled');
    expect(names(farm, job)).toEqual(['a.txt']);
    expect(treesOf(farm, job)).toEqual([]);
  });

  it('W17 ends a Dispatch that is cancelled while its workspace is made, and starts nothing', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(script('- say: too late', green));
    let held = true;
    farm.weather = ({ path }) => (held && path === `/v1/jobs/${job.id}/request` ? 'cut_before' : 'fine');
    const run = worker.of(job);
    await run.until('claimed');
    job.end = { kind: 'cancel', reason: 'by a person' };
    await run.until('completed');
    held = false;
    expect(job.completed).toEqual({ ended: 'cancelled', result: {} });
    expect(run.events('started')).toEqual([]);
    await waitUntil(() => leftOf(worker, job, 'workspaces').length === 0);
  });

  it('W17 brings up whole what is cancelled while it is brought up, ends cancelled, and nothing stays', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(script('- write: {path: a.txt, content: a}', green));
    let held = true;
    farm.weather = ({ path }) => (held && isPackOf(job, path) ? 'cut_before' : 'fine');
    const run = worker.of(job);
    await run.until('captured');
    await waitUntil(() => farm.heard.some(({ path }) => isPackOf(job, path)));
    job.end = { kind: 'cancel', reason: 'by a person' };
    const since = farm.heard.length;
    const beats = () => requestsAbout(farm, job, /job_heartbeat/, since);
    await waitUntil(() => beats().length > 1);
    held = false;
    expect(await run.until('completed')).toMatchObject({ state: 'cancelled', kept: true });
    expect(job.packs).toMatchObject([{ epoch: 1, how: 'accepted' }]);
    expect(names(farm, job)).toEqual(['a.txt']);
    await waitUntil(() => leftOf(worker, job, 'workspaces').length === 0);
    expect(leftOf(worker, job, 'rescue')).toEqual([]);
  });

  it('H11 blames the machine when its disk is full in the middle of a capture, and keeps the work aside', async () => {
    const farm = await StandInController.open();
    const fill = `for (let n = 0; ; n += 1) require('node:fs').writeFileSync('f' + n, '')`;
    const job = farm.add(script(`- run: ${JSON.stringify([process.execPath, '-e', fill])}`, green));
    const home = tempDir('home');
    // a disk of its own, with few names left after the start
    const small = `mount -t tmpfs -o size=700m,nr_inodes=20600,mode=0700 tmpfs ${home} && exec "$@"`;
    const worker = await aWorker(farm, {
      home,
      within: ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', small, 'sh'],
    });
    await worker.until('failed');
    expect(job.failed).toMatchObject({ reason: 'environment', retryable: true });
    expect(job.failed?.detail).toContain('disk_full');
    await worker.until('retained');
  });

  it('steers a running session once, and acknowledges it with the next beat', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(script('- say: here', '- wait: {file: go}', green));
    const run = worker.of(job);
    await run.until('step', ({ text }) => text === 'here');
    job.steer = [{ seq: 4, text: 'mind the gap' }];
    await run.until('step', ({ text }) => text === 'I was told: mind the gap');
    await waitUntil(() => job.acks.length > 0);
    job.end = { kind: 'pause', reason: 'enough' };
    await run.until('completed');
    expect(job.acks).toEqual([{ seq: 4, outcome: 'delivered' }]);
    expect(job.completed).toMatchObject({ ended: 'paused' });
  });

  it('hands in what it has when the worker is asked to stop, and says goodbye', async () => {
    const farm = await StandInController.open();
    const job = farm.add(script('- write: {path: a.txt, content: a}', '- say: here', '- hang'));
    const worker = await aWorker(farm);
    await worker.until('step', ({ text }) => text === 'here');
    worker.process.signal('SIGTERM');
    expect(await worker.process.ended).toBe(0);
    expect(job.completed).toMatchObject({ ended: 'drained' });
    expect(names(farm, job)).toEqual(['a.txt']);
    const last = farm.requests(/job_heartbeat/).at(-1)?.body;
    expect(last).toMatchObject({ input: { worker: { goodbye: true } } });
  });

  it('P3 drains by itself when the farm says so with a beat', async () => {
    const farm = await StandInController.open();
    const job = farm.add(script('- say: here', '- hang'));
    const worker = await aWorker(farm);
    await worker.until('step', ({ text }) => text === 'here');
    farm.drain = true;
    expect(await worker.process.ended).toBe(0);
    expect(job.completed?.ended).toBe('drained');
  });

  it('goes on when nobody watches it any more', async () => {
    const farm = await StandInController.open();
    const job = farm.add(script('- say: here', '- wait: {file: go}', '- say: more', green));
    const worker = await aWorker(farm);
    await worker.until('step', ({ text }) => text === 'here');
    worker.process.child.stdout?.destroy();
    worker.process.child.stderr?.destroy();
    writeFileSync(`${worker.home}/workspaces/${job.id}-1/work/go`, '');
    await waitUntil(() => job.state === 'done', { within: 20_000 });
    expect(job.completed?.ended).toBe('handover');
  });

  it('ends at once at a second SIGTERM, and its guardians end the trees', async () => {
    const farm = await StandInController.open();
    farm.add(script('- say: here', '- hang: {deaf: true}'));
    const worker = await aWorker(farm);
    await worker.until('step', ({ text }) => text === 'here');
    worker.process.signal('SIGTERM');
    await worker.until('draining');
    worker.process.signal('SIGTERM');
    expect(await worker.process.ended).toBe(1);
    await waitUntil(() => findTrees(farm.worker).length === 0, { within: 20_000 });
  });

  it('H22 shows no prompt, ticket or token in any command line or environment of its processes', async () => {
    const { farm, worker } = await shared();
    const canary = 'canary-3f9a';
    const job = farm.add(script(`- say: ${canary}`, '- wait: {file: go}'));
    await worker.of(job).until('step', ({ text }) => text === canary);
    const [tree] = treesOf(farm, job);
    const pids = [
      worker.process.pid,
      ...(tree === undefined ? [] : new ProcessTree(tree).members().map(({ pid }) => pid)),
    ];
    expect(pids.length).toBeGreaterThan(1);
    const shown = everyCommandLine() + pids.map((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8')).join('');
    for (const secret of [canary, worker.ticket, `job-${job.id}-`, 'Bearer']) expect(shown).not.toContain(secret);
    expect(worker.process.stderr()).not.toContain(worker.ticket);
  });

  it('H7 takes the same lease again when the answer to a claim was lost', async () => {
    const farm = await StandInController.open();
    const job = farm.add(script(green));
    let lost = 0;
    farm.weather = ({ path, body }) => {
      if (!path.endsWith('job_claim') || lost > 0 || job.state !== 'queued') return 'fine';
      lost += 1;
      return body === undefined ? 'fine' : 'cut_after';
    };
    await (await aWorker(farm)).until('completed');
    expect(lost).toBe(1);
    expect(job.epoch).toBe(1);
    const ids = farm.requests(/job_claim/).map(({ body }) => requestId(body));
    expect(ids[0]).toBe(ids[1]);
  });

  it('D13 repeats a completion with the same body until it is answered', async () => {
    const { farm, worker } = await shared();
    const job = farm.add(script('- write: {path: a.txt, content: a}', green));
    let cuts = 0;
    farm.weather = (heard) =>
      heard.path.endsWith('job_complete') && isAbout(heard, job) && cuts++ < 2 ? 'cut_after' : 'fine';
    const run = worker.of(job);
    await run.until('completed');
    const bodies = requestsAbout(farm, job, /job_complete/).map(({ body }) => JSON.stringify(body));
    expect(bodies).toHaveLength(3);
    expect(new Set(bodies).size).toBe(1);
    expect(job.state).toBe('done');
    expect(run.events('rescued')).toEqual([]);
  });

  it('goes on with a bundle where the download broke off', async () => {
    const { farm, worker } = await shared();
    const base = await farm.base(aBundle({ 'a.txt': 'broken off' }));
    const before = farm.ranges.length;
    farm.cutBundleAt = 60;
    const job = farm.add(script(green), base);
    await worker.of(job).until('completed');
    expect(farm.ranges.slice(before)).toEqual([0, 60]);
  });

  it('fetches the bundle of a base once for two Dispatches at once', async () => {
    const { farm, worker } = await shared();
    const base = await farm.base(aBundle({ 'a.txt': 'for two' }));
    const before = farm.ranges.length;
    const jobs = [farm.add(script(green), base), farm.add(script(green), base)];
    for (const job of jobs) await worker.of(job).until('completed');
    expect(jobs.map(({ state }) => state)).toEqual(['done', 'done']);
    expect(farm.ranges.slice(before)).toEqual([0]);
  });
});

function requestId(body: unknown): string {
  return /"request_id":"([^"]+)"/.exec(JSON.stringify(body))?.[1] ?? '';
}

function commitOf(job: StandInJob): string {
  return String(job.completed?.result.commit);
}

function show(farm: StandInController, job: StandInJob, path: string): string {
  return git(farm, 'show', `${commitOf(job)}:${path}`);
}

function names(farm: StandInController, job: StandInJob): readonly string[] {
  return git(farm, 'ls-tree', '-r', '--name-only', commitOf(job)).trim().split('\n');
}

function git(farm: StandInController, ...args: string[]): string {
  return execFileSync('git', args, { cwd: farm.store.dir }).toString();
}

function isPackOf(job: StandInJob, path: string): boolean {
  return path.startsWith(`/v1/jobs/${job.id}/`) && path.includes('/packs/');
}

function isAbout({ body }: Heard, job: StandInJob): boolean {
  return JSON.stringify(body).includes(job.id);
}

function requestsAbout(farm: StandInController, job: StandInJob, path: RegExp, since = 0): readonly Heard[] {
  return farm.heard.slice(since).filter((heard) => path.test(heard.path) && isAbout(heard, job));
}

function treesOf(farm: StandInController, job: StandInJob) {
  return findTrees(farm.worker).filter((tree) => tree.job === job.id);
}

/** What lies of a job in a folder of the worker's home. */
function leftOf(worker: TestWorker, job: StandInJob, folder: 'workspaces' | 'rescue'): readonly string[] {
  return readdirSync(`${worker.home}/${folder}`).filter((name) => name.startsWith(job.id));
}

function everyCommandLine(): string {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return '';
      }
    })
    .join('\n');
}
