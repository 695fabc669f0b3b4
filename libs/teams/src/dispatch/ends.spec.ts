import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DispatchEnded, limits } from '#contracts';
import { statement } from '#store';
import { aTeamFarm, leaseTime, payloadOf, type TeamFarm } from '../../../../test/support/team-farm.js';
import { dispatchEnds } from './ends.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow();
});
afterAll(() => farm.close());

interface Row {
  readonly id: string;
  readonly reason: string;
  readonly closed_reason: string | null;
  readonly attempt: number;
  readonly base: string;
  readonly caused_by: string | null;
  readonly state: string;
  readonly continuation: unknown;
}
const dispatchesOf = (task: string) =>
  farm.sql<Row>(`select d.id, reason, closed_reason, attempt, base, caused_by, continuation, j.state
    from dispatch d join job j on j.id = d.id where d.task = '${task}' order by j.seq`);
const laneOf = async (task: string) =>
  (
    await farm.sql<{ attempt: number; recoveries: number; line_head: string; retries_used: number }>(
      `select attempt, recoveries, retries_used, line_head from assignment where task = '${task}'`,
    )
  )[0];

const ends = Object.entries(dispatchEnds);

describe('the end of a Dispatch', () => {
  it('D3 has one row in the table for each way to end without a handover', () => {
    expect([...Object.keys(dispatchEnds), 'handover'].sort()).toEqual([...DispatchEnded.options].sort());
  });

  it.each(ends)(
    'D3 %s closes it, moves the line and opens what the table says, from the head of the line',
    async (name, rule) => {
      const ended = DispatchEnded.parse(name);
      const { task, worker } = await farm.alone();
      const north = worker('north');
      const lease = await north.begin();
      const work = await north.work(lease, { [`${ended}.txt`]: 'half\n' });
      await north.upload(lease, work);
      expect(await north.complete(lease, ended, { commit: work.commit })).toEqual({ state: 'done', kept: true });

      const [first, next, ...more] = await dispatchesOf(task);
      expect(first).toMatchObject({ closed_reason: rule.closed, state: 'done' });
      expect(next).toMatchObject({
        reason: rule.successor,
        caused_by: lease.id,
        base: work.commit,
        attempt: 1,
        state: 'queued',
      });
      expect(next?.continuation).toMatchObject({ kind: rule.successor, source_dispatch: lease.id });
      expect(more).toEqual([]);
      expect(await laneOf(task)).toMatchObject({ recoveries: rule.counter === null ? 0 : 1, line_head: work.commit });
      expect((await farm.view(task)).rescues).toEqual([]);
    },
  );

  it('D7 leaves the line where it was when it ended without a change', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    await north.complete(lease, 'crashed');
    expect(await laneOf(task)).toMatchObject({ line_head: payloadOf(lease).base });
  });

  it('waits as long as a rate limit says before it goes on', async () => {
    const { worker } = await farm.alone();
    const north = worker('north');
    await north.complete(await north.begin(), 'limited', { retry_after_ms: 300_000 });
    await expect(north.claim()).rejects.toThrow('nothing to claim');
    await farm.time.pass(300_001);
    await expect(north.claim()).resolves.toMatchObject({ epoch: 1 });
  });

  it('D4 I18 recovers a crashing lane twice, then it is exhausted and the Task pauses; Resume gives new tries', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    for (let n = 0; n < limits.recoveries; n += 1) await north.complete(await north.begin(), 'crashed');
    const last = await north.begin();
    await north.complete(last, 'silent');
    expect((await dispatchesOf(task)).map((row) => row.closed_reason)).toEqual([
      'watchdog_superseded',
      'watchdog_superseded',
      'control_failed',
    ]);
    expect(await farm.view(task)).toMatchObject({
      status: 'paused',
      pause_reason: 'runtime_recovery_exhausted',
      attention: [{ kind: 'lane_exhausted' }],
    });
    await farm.control(task, 'resume');
    expect(await farm.view(task)).toMatchObject({ status: 'running', pause_reason: null, attention: [] });
    expect(await laneOf(task)).toMatchObject({ recoveries: 0 });
    expect((await dispatchesOf(task)).at(-1)).toMatchObject({
      reason: 'operator_continue',
      caused_by: last.id,
      state: 'queued',
    });
  });

  it('D4 begins to count anew after a new attempt', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    await north.complete(await north.begin(), 'crashed');
    expect(await laneOf(task)).toMatchObject({ recoveries: 1 });
    await north.handOver(await north.begin(), { summary: 'Start over', outcome: 'retry' });
    expect(await laneOf(task)).toMatchObject({ recoveries: 0, attempt: 2 });
  });

  it('D4 pauses a Task in the sweep when no lane of it can go on, and opens a lane that was left', async () => {
    const [stuck, left] = [await farm.alone(), await farm.alone()];
    await farm.sql(
      `update job set state = 'done', settled_at = now() where scope in ('${stuck.task}', '${left.task}')`,
    );
    await farm.sql(
      `update dispatch set closed_at = now(), closed_reason = 'control_failed' where task = '${stuck.task}'`,
    );
    await farm.sql(`update dispatch set closed_at = now(), closed_reason = 'drained' where task = '${left.task}'`);
    const changed = await farm.teams.sweeps.retestLanes();
    expect(changed).toEqual(expect.arrayContaining([stuck.task, left.task]));
    expect(await farm.view(stuck.task)).toMatchObject({ status: 'paused', pause_reason: 'runtime_recovery_exhausted' });
    expect((await dispatchesOf(left.task)).at(-1)).toMatchObject({ reason: 'operator_continue', state: 'queued' });
    expect(await farm.teams.sweeps.retestLanes()).not.toContain(left.task);
  });

  it('I3 gives a closed Dispatch one successor, however many controllers find it at once', async () => {
    const other = farm.another();
    const tasks: string[] = [];
    for (let n = 0; n < 5; n += 1) tasks.push((await farm.alone()).task);
    const among = tasks.map((task) => `'${task}'`).join();
    await farm.sql(`update job set state = 'done', settled_at = now() where scope in (${among})`);
    await farm.sql(`update dispatch set closed_at = now(), closed_reason = 'drained' where task in (${among})`);
    const sweeps = [farm.teams, other.teams, farm.teams].map((teams) => teams.sweeps.retestLanes());
    const changed = (await Promise.all(sweeps)).flat().filter((task) => tasks.includes(task));
    expect(changed.sort()).toEqual([...tasks].sort());
    for (const task of tasks) expect(await dispatchesOf(task)).toHaveLength(2);
  });

  it('I3 lets no writer give a cause a second successor, whatever the cause', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    await north.complete(await north.begin(), 'drained');
    const columns = 'task, assignment, attempt, reason, pins, request, continuation, base';
    const twin = (cause: string) =>
      farm.tx(async (tx) => {
        const id = randomUUID();
        await farm.queue.submit(tx, { id, kind: 'plain', held: true });
        await tx.run(
          statement(
            '',
            `insert into dispatch (id, caused_by, closed_at, closed_reason, ${columns})
             select '${id}', ${cause}, now(), 'drained', ${columns} from dispatch where task = '${task}' and closed_at is null`,
          ),
        );
      });
    await expect(twin('caused_by')).rejects.toThrow('dispatch_caused_by');
    // The first of an Assignment has no cause, and there is one of them too (I25).
    await expect(twin('null')).rejects.toThrow('dispatch_caused_by');
    expect(await dispatchesOf(task)).toHaveLength(2);
  });

  it('retry opens a new attempt from the head of the line, told why, while the budget lasts', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const first = await north.begin();
    const work = await north.work(first, { 'try.txt': 'first\n' });
    await north.handOver(
      first,
      { summary: 'Another way', details: 'Use the parser.', outcome: 'retry' },
      { 'try.txt': 'first\n' },
    );
    const [, next] = await dispatchesOf(task);
    expect(next).toMatchObject({ reason: 'semantic_retry', attempt: 2, base: work.commit, caused_by: first.id });
    expect(next?.continuation).toMatchObject({ kind: 'semantic_retry', checkpoint: { details: 'Use the parser.' } });
    expect(await farm.view(task)).toMatchObject({ status: 'running', result: null });
    const second = await north.begin();
    await expect(north.checkpoint(second, { summary: 'Again', outcome: 'retry' })).rejects.toMatchObject({
      code: 'budget_exhausted',
    });
    await north.handOver(second, { summary: 'Done', outcome: 'green' });
    expect(await farm.view(task)).toMatchObject({ status: 'completed', result: { summary: 'Done' } });
  });

  it('I6 sends the same Dispatch with the same bytes at the next epoch when its machine is lost, twice at most', async () => {
    const { task, worker } = await farm.alone({ prompt: 'Say <hello> & go.' });
    const machines = ['a', 'b', 'c'].map(worker);
    const bytes: string[] = [];
    for (const [n, machine] of machines.entries()) {
      const lease = await machine.begin();
      expect(lease.epoch).toBe(n + 1);
      bytes.push(JSON.stringify(await farm.teams.roads.request(machine.shown(lease))));
      await farm.time.pass(leaseTime);
      await farm.queue.sweep();
    }
    expect(new Set(bytes).size).toBe(1);
    expect(await dispatchesOf(task)).toMatchObject([{ closed_reason: 'control_failed', state: 'done' }]);
    expect(await farm.view(task)).toMatchObject({ status: 'paused', pause_reason: 'runtime_recovery_exhausted' });
  });

  it('H7 counts nothing for a lease whose first beat never came', async () => {
    const { task, worker } = await farm.alone();
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await worker(name).claim();
      await farm.time.pass(leaseTime);
      await farm.queue.sweep();
    }
    expect(await laneOf(task)).toMatchObject({ recoveries: 0 });
    await expect(worker('f').claim()).resolves.toMatchObject({ epoch: 6 });
  });

  it('D10 exhausts the lane of what can never be captured, and of a provider that does not start', async () => {
    const [captured, refused] = [await farm.alone(), await farm.alone()];
    const north = captured.worker('north');
    await north.fail(await north.begin(), 'capture_failed', false);
    expect(await dispatchesOf(captured.task)).toMatchObject([{ closed_reason: 'control_failed', state: 'done' }]);
    await expect(north.claim()).rejects.toThrow('nothing to claim');
    expect(await farm.view(captured.task)).toMatchObject({ status: 'paused', attention: [{ kind: 'lane_exhausted' }] });
    for (let n = 1; n <= limits.startAttempts; n += 1) {
      const south = refused.worker(`south-${n}`);
      await south.fail(await south.claim(), 'provider_start');
      await farm.time.pass(60_000);
    }
    expect(await farm.view(refused.task)).toMatchObject({
      status: 'paused',
      pause_reason: 'runtime_recovery_exhausted',
    });
    expect(await laneOf(refused.task)).toMatchObject({ recoveries: 0 });
  });

  it('H11 spends nothing of the job when the machine is at fault', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    await north.fail(await north.claim(), 'environment');
    await expect(north.claim()).rejects.toThrow('nothing to claim');
    const south = worker('south');
    await south.handOver(await south.begin(), { summary: 'Done', outcome: 'green' });
    expect(await farm.view(task)).toMatchObject({ status: 'completed' });
  });
});
