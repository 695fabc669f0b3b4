import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { aWorker, type TestWorker } from '../../../../test/support/a-worker.js';
import { oneWorker } from '../../../../test/support/one-worker.js';
import { StandInController, type StandInJob } from '../../../../test/support/stand-in-controller.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { ProcessTree } from '../process/process-tree.js';
import { findTrees } from '../process/tree-sweep.js';

const waiting = `steps:
  - write: {path: a.txt, content: a}
  - say: here
  - wait: {file: go}
  - call: {operation: checkpoint, input: {outcome: green, summary: Done}}
`;

const shared = oneWorker();

describe('a worker that hears nothing of the farm', () => {
  it('A12.5 D18 H15 freezes its session at the end of the lease and goes on at the same epoch when the farm answers again', async () => {
    const { farm, job, worker } = await atWork();
    await farm.away();
    await worker.until('frozen', ({ cause }) => cause === 'lease_end');
    expect(states(farm)).toEqual(['stopped']);
    letGo(worker, job);
    await farm.back();
    await worker.until('completed');
    expect(worker.events('thawed')).toHaveLength(1);
    expect(worker.events('started')).toHaveLength(1);
    expect(job.epoch).toBe(1);
    expect(job.completed?.ended).toBe('handover');
  });

  it('D18 asks again on a fresh connection, and counts the lease from the sending of the beat that was answered', async () => {
    const { farm, job, worker } = await atWork();
    // half open: requests arrive and nothing comes back
    farm.weather = ({ path }) => (path.endsWith('job_heartbeat') ? { lateMs: 60_000 } : 'fine');
    await worker.until('beat_unanswered');
    const before = farm.requests(/job_heartbeat/).length;
    await waitUntil(() => farm.requests(/job_heartbeat/).length > before + 2);
    // the farm believes in the lease all along, the worker cannot know: it stands still
    await worker.until('frozen', ({ cause }) => cause === 'lease_end');
    farm.weather = () => 'fine';
    await worker.until('thawed');
    expect(job.epoch).toBe(1);
    letGo(worker, job);
    await worker.until('completed');
  });

  it('D18 sends and counts no reminder while no beat is answered', async () => {
    const farm = await StandInController.open();
    const job = farm.add('steps:\n  - say: here\n  - wait: {file: go}\n');
    const worker = await aWorker(farm);
    await worker.until('step', ({ text }) => text === 'here');
    let away = true;
    farm.weather = ({ path }) => (away && path.endsWith('job_heartbeat') ? 'cut_before' : 'fine');
    await worker.until('beat_unanswered');
    letGo(worker, job);
    await worker.until('step', ({ step }) => step === 'turn_end');
    await worker.until('frozen');
    expect(worker.events('reminded')).toEqual([]);
    away = false;
    await worker.until('completed');
    expect(worker.events('reminded')).toHaveLength(3);
    expect(job.completed?.ended).toBe('silent');
  });

  it('D18 lets a capture wait while no beat is answered', async () => {
    const farm = await StandInController.open();
    farm.leaseMs = 10_000;
    const job = farm.add('steps:\n  - say: here\n  - wait: {file: go}\n  - crash\n');
    const worker = await aWorker(farm);
    await worker.until('step', ({ text }) => text === 'here');
    let away = true;
    farm.weather = ({ path }) => (away && path.endsWith('job_heartbeat') ? 'cut_before' : 'fine');
    await worker.until('beat_unanswered');
    letGo(worker, job);
    await worker.until('stopped');
    const beats = farm.requests(/job_heartbeat/).length;
    await waitUntil(() => farm.requests(/job_heartbeat/).length > beats + 2);
    expect(worker.events('captured')).toEqual([]);
    away = false;
    await worker.until('completed');
    expect(job.completed?.ended).toBe('crashed');
  });

  it('D11 claims its frozen job first and goes on with the same session at the next epoch', async () => {
    const { farm, job, worker } = await atWork();
    const other = farm.add('steps:\n  - say: other\n');
    const cut = cutBeats(farm);
    await waitUntil(() => job.state === 'queued', { within: 20_000 });
    await worker.until('frozen');
    letGo(worker, job);
    cut.end();
    await worker.until('continues');
    await worker.until('completed', (event) => event.job === job.id);
    expect(job.epoch).toBe(2);
    expect(worker.events('started').filter((event) => event.job === job.id)).toHaveLength(1);
    expect(job.completed?.ended).toBe('handover');
    await worker.until('claimed', (event) => event.job === other.id);
    const order = worker.events().map(({ event, job: of }) => `${String(event)} ${of === job.id ? 'own' : 'other'}`);
    expect(order.indexOf('continues own')).toBeLessThan(order.indexOf('claimed other'));
    // the output of the second epoch has numbers of its own
    expect([...job.output.keys()]).toContain('2/0');
  });

  it('D11 H10 D20 ends the tree of a job that another has, and brings its work up as a rescue', async () => {
    const { farm, job, worker } = await atWork();
    const cut = cutBeats(farm);
    await waitUntil(() => job.state === 'queued', { within: 20_000 });
    await worker.until('frozen');
    farm.giveToAnother(job);
    cut.end();
    const rescued = await worker.until('rescued');
    await worker.until('lost');
    expect(job.packs).toEqual([{ epoch: 1, commit: rescued.commit, how: 'rescue' }]);
    expect(files(farm, String(rescued.commit))).toEqual(['a.txt']);
    expect(job.completed).toBeUndefined();
    await waitUntil(() => readdirSync(join(worker.home, 'workspaces')).length === 0);
    expect(findTrees(farm.worker)).toEqual([]);
  });

  it('H14 stops writing under a lease that was taken away while it runs', async () => {
    const { farm, job, worker } = await atWork(shared);
    farm.giveToAnother(job);
    await worker.of(job).until('stale');
    await worker.of(job).until('rescued');
    const ends = farm.requests(/job_complete/).map(({ body }) => JSON.stringify(body));
    expect(ends.filter((end) => end.includes(job.id))).toEqual([]);
    expect(job.packs.map(({ how }) => how)).toEqual(['rescue']);
  });

  it('H15 freezes within its lease though the worker itself is stopped, and is no danger when it wakes up', async () => {
    const { farm, job, worker } = await atWork();
    worker.process.signal('SIGSTOP');
    await waitUntil(() => states(farm).join() === 'stopped', { within: 20_000 });
    await waitUntil(() => job.state === 'queued', { within: 20_000 });
    farm.giveToAnother(job);
    worker.process.signal('SIGCONT');
    await worker.until('rescued');
    expect(farm.requests(/job_complete/)).toEqual([]);
    expect(findTrees(farm.worker)).toEqual([]);
  });

  it('keeps the work aside where the farm does not say that it has it', async () => {
    const { farm, job, worker } = await atWork(shared);
    farm.weather = ({ path }) => (path.includes('/packs/') ? { problem: 'stale_lease' } : 'fine');
    farm.giveToAnother(job);
    const retained = await worker.until('retained', ({ path }) => String(path).includes(job.id));
    expect(readFileSync(join(String(retained.path), 'work', 'a.txt'), 'utf8')).toBe('a');
  });
});

async function alone(): ReturnType<typeof shared> {
  const farm = await StandInController.open();
  return { farm, worker: await aWorker(farm) };
}

async function atWork(begin = alone): Promise<{ farm: StandInController; job: StandInJob; worker: TestWorker }> {
  const { farm, worker } = await begin();
  const job = farm.add(waiting);
  await worker.of(job).until('step', ({ text }) => text === 'here');
  return { farm, job, worker };
}

/** Beats and claims get no answer until `end`. */
function cutBeats(farm: StandInController): { end(): void } {
  farm.weather = ({ path }) => (/job_(heartbeat|claim)$/.test(path) ? 'cut_before' : 'fine');
  return { end: () => (farm.weather = () => 'fine') };
}

function letGo(worker: TestWorker, job: StandInJob): void {
  writeFileSync(join(worker.home, 'workspaces', `${job.id}-1`, 'work', 'go'), '');
}

function states(farm: StandInController): readonly string[] {
  const rows = findTrees(farm.worker).flatMap((tree) => new ProcessTree(tree).members());
  return [...new Set(rows.map(({ stopped }) => (stopped ? 'stopped' : 'running')))];
}

function files(farm: StandInController, commit: string): readonly string[] {
  const out = execFileSync('git', ['ls-tree', '-r', '--name-only', commit], { cwd: farm.store.dir });
  return out.toString().trim().split('\n');
}
