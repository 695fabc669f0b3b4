import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inTurn } from '../../../../test/support/in-turn.js';
import { aTeamFarm, leaseTime, person, type TeamFarm } from '../../../../test/support/team-farm.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { lockTask } from './lock-task.js';
import { pauseTask } from './pause-task.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow();
});
afterAll(() => farm.close());

const green = { summary: 'It is done', outcome: 'green' } as const;
const control = (task: string, action_id: string) =>
  farm.tx((tx) => farm.teams.tasks.control(tx, { principal: person }, { task_id: task, action_id }));
const openOf = (task: string) => farm.sql(`select 1 from dispatch where task = '${task}' and closed_at is null`);

describe('the control of a Task', () => {
  it('I16 does nothing by the id of an action that other facts stood behind', async () => {
    const { task, worker } = await farm.alone();
    const [first] = (await farm.view(task)).actions;
    expect(first).toMatchObject({ kind: 'pause' });
    const north = worker('north');
    await north.fail(await north.begin(), 'capture_failed', false);
    await expect(control(task, first?.id ?? '')).rejects.toMatchObject({ code: 'conflict' });
    const { actions } = await farm.view(task);
    expect(actions.map((action) => action.kind)).toEqual(['resume', 'cancel']);
    await control(task, actions[0]?.id ?? '');
    await expect(control(task, actions[1]?.id ?? '')).rejects.toMatchObject({ code: 'conflict' });
    expect(await farm.view(task)).toMatchObject({ status: 'running' });
  });

  it('I16 lets one of two people win with ids of the same view', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    await north.fail(await north.begin(), 'capture_failed', false);
    const { actions } = await farm.view(task);
    const outcomes = await Promise.allSettled(actions.map((action) => control(task, action.id)));
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
  });

  it('O13 D8 pauses: sessions are told to stop, their work is kept, and Resume goes on from it', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    expect(await farm.control(task, 'pause')).toEqual({ kind: 'pause', status: 'paused' });
    expect(await farm.view(task)).toMatchObject({ product_status: 'paused', pause_reason: 'paused_by_operator' });
    expect(await north.beat(lease)).toMatchObject({ held: true, end: { kind: 'pause' } });
    const work = await north.work(lease, { 'half.txt': 'half\n' });
    await north.upload(lease, work);
    await north.complete(lease, 'paused', { commit: work.commit });
    await expect(north.claim()).rejects.toThrow('nothing to claim');
    await farm.control(task, 'resume');
    const next = await north.begin();
    expect(next.payload).toMatchObject({ base: work.commit });
    expect((await north.context(next)).continuation).toMatchObject({
      kind: 'operator_continue',
      pause_reason: 'paused_by_operator',
    });
    await north.handOver(next, green);
    expect((await farm.view(task)).activities.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['task_paused', 'task_resumed']),
    );
  });

  it('O13 D8 a session that goes on to its end in spite of the pause completes the Task', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const callId = randomUUID();
    await north.checkpoint(lease, green, callId);
    await farm.control(task, 'pause');
    await north.complete(lease, 'handover', { handover: { call_id: callId } });
    expect(await farm.view(task)).toMatchObject({ status: 'completed', result: { outcome: 'green' } });
  });

  it('Q12 of a pause and a cancel by ids of the same view the first wins, and the second is told to look again', async () => {
    const { task } = await farm.alone();
    const { actions } = await farm.view(task);
    expect(actions.map(({ kind }) => kind)).toEqual(['pause', 'cancel']);
    await control(task, actions[0]?.id ?? '');
    await expect(control(task, actions[1]?.id ?? '')).rejects.toMatchObject({
      code: 'conflict',
      hint: expect.stringContaining('Read the Task again'),
    });
    expect((await farm.view(task)).actions.map(({ kind }) => kind)).toEqual(['resume', 'cancel']);
  });

  it('R18 beats a Resume by a view from before: nothing is opened again, whichever came to the Task first', async () => {
    for (const cancelFirst of [true, false]) {
      const { task, worker } = await farm.alone();
      const north = worker('north');
      await north.complete(await north.begin(), 'drained');
      await farm.control(task, 'pause');
      const actions = (await farm.view(task)).actions;
      const by = (kind: string) => () => control(task, actions.find((action) => action.kind === kind)?.id ?? '');
      const [one, two] = cancelFirst ? [by('cancel'), by('resume')] : [by('resume'), by('cancel')];
      const [first, second] = await inTurn(farm, task, one, two);
      expect(first.status).toBe('fulfilled');
      expect(second).toMatchObject({ status: 'rejected', reason: { code: 'conflict' } });
      // Who came second looks again; a cancel is always there, a Resume never again.
      if (!cancelFirst) await farm.control(task, 'cancel');
      await expect(by('resume')()).rejects.toMatchObject({ code: 'conflict' });
      expect(await farm.view(task)).toMatchObject({ status: 'cancelled', actions: [], result: null });
      expect(await openOf(task)).toEqual([]);
      expect(await farm.teams.sweeps.retestLanes()).not.toContain(task);
      await expect(north.claim()).rejects.toThrow('nothing to claim');
    }
  });

  it('D9 I15 I7 cancels what waits at once, tells who holds a lease, keeps the work and has no Result', async () => {
    const [waiting, held] = [await farm.alone(), await farm.alone()];
    const north = held.worker('north');
    const lease = await north.begin();
    const work = await north.work(lease, { 'half.txt': 'half\n' });
    await farm.control(waiting.task, 'cancel');
    await farm.control(held.task, 'cancel');
    for (const task of [waiting.task, held.task]) expect(await openOf(task)).toEqual([]);
    expect(await farm.sql(`select state from job where scope = '${waiting.task}'`)).toEqual([{ state: 'cancelled' }]);
    expect(await north.beat(lease)).toMatchObject({ held: true, end: { kind: 'cancel' } });
    await expect(north.checkpoint(lease, green)).rejects.toMatchObject({ code: 'stale_dispatch' });

    await north.upload(lease, work);
    expect(await north.complete(lease, 'cancelled', { commit: work.commit })).toEqual({
      state: 'cancelled',
      kept: true,
    });
    expect(await farm.view(held.task)).toMatchObject({
      status: 'cancelled',
      product_status: 'cancelled',
      result: null,
      rescues: [{ commit: work.commit, member_id: 'lead', why: 'the Task was cancelled' }],
    });
    expect(
      await farm.sql(`select line_head = line_base as unmoved from assignment where task = '${held.task}'`),
    ).toEqual([{ unmoved: true }]);
  });

  it('D9 never gives a cancelled job to another machine when its own is lost', async () => {
    const { task, worker } = await farm.alone();
    await worker('north').begin();
    await farm.control(task, 'cancel');
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    expect(await farm.sql(`select state from job where scope = '${task}'`)).toEqual([{ state: 'cancelled' }]);
    await expect(worker('south').claim()).rejects.toThrow('nothing to claim');
  });

  it('H12 lets a completion wait for the Task before it touches the job, so that a cancel that came first goes through', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const callId = randomUUID();
    await north.checkpoint(lease, green, callId);
    const action = (await farm.view(task)).actions.find(({ kind }) => kind === 'cancel');
    const input = { task_id: task, action_id: action?.id ?? '' };
    const waiting = () =>
      farm.sql(`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
    const { completed } = await farm.tx(async (tx) => {
      await lockTask(tx, task);
      const completed = north.complete(lease, 'handover', { handover: { call_id: callId } });
      await waitUntil(async () => (await waiting()).length > 0, { what: 'the completion waits' });
      await farm.teams.tasks.control(tx, { principal: person }, input);
      return { completed };
    });
    expect(await completed).toEqual({ state: 'cancelled', kept: true });
    expect(await farm.view(task)).toMatchObject({ status: 'cancelled', result: null });
  });

  it('H12 D9 has one winner between cancel and a completion, and never a deadlock', async () => {
    const rounds = 40;
    const won = { cancelled: 0, completed: 0 };
    for (let n = 0; n < rounds; n += 1) {
      const { task, worker } = await farm.alone();
      const north = worker('north');
      const lease = await north.begin();
      const callId = randomUUID();
      await north.checkpoint(lease, green, callId);
      const end = { handover: { call_id: callId } };
      const prepared = await north.prepare(lease, 'handover', end);
      const fence = { job_id: lease.id, epoch: lease.epoch, lease_id: lease.lease_id };
      const action = (await farm.view(task)).actions.find(({ kind }) => kind === 'cancel');
      const [cancelled, completed] = await Promise.allSettled([
        control(task, action?.id ?? ''),
        farm.tx((tx) => farm.queue.complete(tx, north.claimer, fence, { ended: 'handover', result: end }, prepared)),
      ]);
      expect(completed).toMatchObject({ status: 'fulfilled', value: { kept: true } });
      if (cancelled.status === 'rejected') expect(cancelled.reason).toMatchObject({ code: 'conflict' });
      const { status, result } = await farm.view(task);
      expect(status).toBe(cancelled.status === 'fulfilled' ? 'cancelled' : 'completed');
      expect(result === null).toBe(status === 'cancelled');
      expect(await openOf(task)).toEqual([]);
      won[status === 'cancelled' ? 'cancelled' : 'completed'] += 1;
    }
    expect(won.cancelled + won.completed).toBe(rounds);
  });

  it('D8 applies a handover that arrives while the Task is paused, and a green of the root completes it', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    const callId = randomUUID();
    await north.checkpoint(lease, green, callId);
    await pause(task);
    expect(await north.complete(lease, 'handover', { handover: { call_id: callId } })).toMatchObject({ kept: true });
    expect(await farm.view(task)).toMatchObject({
      status: 'completed',
      pause_reason: null,
      result: { outcome: 'green' },
    });
  });

  it('D8 I26 holds what a retry opens and what is lost while the Task is paused, until Resume', async () => {
    const [retried, lost, moved] = [await farm.alone(), await farm.alone(), await farm.alone()];
    const north = retried.worker('north');
    const lease = await north.begin();
    const callId = randomUUID();
    await north.checkpoint(lease, { summary: 'Again', outcome: 'retry' }, callId);
    await lost.worker('south').begin();
    const east = moved.worker('east');
    const ending = await east.begin();
    for (const { task } of [retried, lost, moved]) await pause(task);
    await north.complete(lease, 'handover', { handover: { call_id: callId } });
    await east.complete(ending, 'paused');
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    const statesOf = (task: string) => farm.sql(`select state from job where scope = '${task}' order by seq`);
    expect(await statesOf(retried.task)).toEqual([{ state: 'done' }, { state: 'held' }]);
    expect(await statesOf(lost.task)).toEqual([{ state: 'held' }]);
    expect(await statesOf(moved.task)).toEqual([{ state: 'done' }]);
    for (const { task } of [retried, lost, moved]) await farm.control(task, 'resume');
    expect(await statesOf(retried.task)).toEqual([{ state: 'done' }, { state: 'queued' }]);
    expect(await statesOf(lost.task)).toEqual([{ state: 'queued' }]);
    expect(await statesOf(moved.task)).toEqual([{ state: 'done' }, { state: 'queued' }]);
    for (const { task } of [retried, lost, moved]) expect(await openOf(task)).toHaveLength(1);
  });

  it('D8 holds what is queued when the Task pauses: nobody is given it before Resume', async () => {
    const { task, worker } = await farm.alone();
    await farm.control(task, 'pause');
    await expect(worker('north').claim()).rejects.toThrow('nothing to claim');
    expect(await farm.sql(`select state from job where scope = '${task}'`)).toEqual([{ state: 'held' }]);
    await farm.control(task, 'resume');
    expect(await worker('north').begin()).toMatchObject({ epoch: 1 });
    expect(await farm.sql(`select reason from dispatch where task = '${task}'`)).toEqual([{ reason: 'root' }]);
  });

  it('D8 I3 leaves a lane to the end that is still to arrive when the Task is resumed before it', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    await pause(task);
    await farm.control(task, 'resume');
    expect(await openOf(task)).toHaveLength(1);
    await north.complete(lease, 'paused');
    const rows = await farm.sql(`select reason, caused_by from dispatch where task = '${task}' and closed_at is null`);
    expect(rows).toEqual([{ reason: 'operator_continue', caused_by: lease.id }]);
  });
});

/** Pausing by people comes later; its state is what these rules are about. */
function pause(task: string) {
  return farm.tx(async (tx) => {
    const parts = { queue: () => farm.queue, bell: { ring() {}, listen: () => () => {} } };
    const why = { reason: 'paused_by_operator' as const, detail: 'A person has paused it.' };
    await pauseTask(parts, tx, await lockTask(tx, task), why);
    await farm.queue.flagEnd(tx, task, 'pause', 'paused');
  });
}
