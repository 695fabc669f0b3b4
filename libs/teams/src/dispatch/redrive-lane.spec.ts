import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aTeamFarm, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow();
});
afterAll(() => farm.close());

const redrive = (job: string) => farm.tx((tx) => farm.queue.redrive(tx, job));
const requeue = (job: string) => farm.tx((tx) => farm.queue.requeue(tx, job));
const refused = { code: 'not_resumable' };
const openOf = (task: string) =>
  farm.sql(
    `select d.reason, d.caused_by, j.state from dispatch d join job j on j.id = d.id where d.task = '${task}' and d.closed_at is null`,
  );

describe('requeue and redrive of a Dispatch', () => {
  it('H9 I3 put nothing back but the current Dispatch of its lane, while the Task runs', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const first = await north.begin();
    expect(await requeue(first.id)).toBe('queued');
    const again = await north.begin();
    expect(again).toMatchObject({ id: first.id, epoch: 2 });
    await north.fail(again, 'capture_failed', false);
    await expect(requeue(first.id)).rejects.toMatchObject(refused);
    // Dead, Resume, then a redrive of the old one: refused.
    await farm.control(task, 'resume');
    await expect(redrive(first.id)).rejects.toMatchObject(refused);
    await expect(requeue(first.id)).rejects.toMatchObject(refused);
    expect(await openOf(task)).toEqual([{ reason: 'operator_continue', caused_by: first.id, state: 'queued' }]);
  });

  it('H9 bring an exhausted lane and its Task back, once', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    await north.fail(lease, 'capture_failed', false);
    expect(await farm.view(task)).toMatchObject({ status: 'paused' });
    const outcomes = await Promise.allSettled([redrive(lease.id), redrive(lease.id)]);
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
    expect(await farm.view(task)).toMatchObject({ status: 'running', attention: [] });
    expect(await openOf(task)).toEqual([{ reason: 'operator_continue', caused_by: lease.id, state: 'queued' }]);
  });

  it('H9 bring an exhausted lane back while the rest of its Task runs', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    // Another lane of the Task goes on, so that it does not pause.
    await farm.sql(`with child as (
        insert into assignment (id, task, member, parent, prompt, children_limit, retry_limit, line_base, line_head)
        select gen_random_uuid(), task, 'helper', id, 'Help.', 1, 1, line_base, line_head from assignment where task = '${task}' returning *)
      insert into human_request (id, task, assignment, source_dispatch, kind, summary, items, status)
      select gen_random_uuid(), task, id, '${lease.id}', 'input', 'Wait', '[]', 'open' from child`);
    await north.fail(lease, 'capture_failed', false);
    expect(await farm.view(task)).toMatchObject({ status: 'running', attention: [{ kind: 'lane_exhausted' }] });
    await redrive(lease.id);
    expect(await farm.view(task)).toMatchObject({ status: 'running', attention: [] });
    expect(await openOf(task)).toMatchObject([{ reason: 'operator_continue', caused_by: lease.id }]);
  });

  it('H9 bring nothing back of a Task that is over', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lease = await north.begin();
    await north.fail(lease, 'capture_failed', false);
    await farm.control(task, 'cancel');
    await expect(redrive(lease.id)).rejects.toMatchObject(refused);
    expect(await openOf(task)).toEqual([]);
  });
});
