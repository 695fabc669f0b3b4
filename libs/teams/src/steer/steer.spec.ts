import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { limits, taskMemberSteer } from '#contracts';
import { aTeamFarm, leaseTime, person, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow();
});
afterAll(() => farm.close());

async function atWork() {
  const { task, worker } = await farm.alone();
  const north = worker('north');
  const lease = await north.begin();
  return { task, worker, north, lease };
}
const action = async (task: string) => (await farm.view(task)).team[0]?.steer_action?.id;
const steered = async (task: string) =>
  (await farm.eventTypes(task)).filter((type) => type === 'member_steered').length;
const follow = (task: string, action_id = '', atMostMs = 5_000) =>
  farm.teams.tasks.followSteer(
    { task_id: task, member_id: 'lead', action_id, message: 'Go left.' },
    AbortSignal.timeout(20_000),
    atMostMs,
  );

describe('a word to a member at work', () => {
  it('O14 I23 is told by the next beat, and is an event exactly when the session has it', async () => {
    const { task, north, lease } = await atWork();
    const before = farm.rings.length;
    const id = await action(task);
    expect(await farm.steer(task, 'lead', 'Go left.')).toEqual({ member_id: 'lead', status: 'queued' });
    expect(farm.rings.slice(before)).toContain(`bell.worker.${north.claimer.worker}`);
    expect(await north.beat(lease)).toMatchObject({ steer: [{ seq: 1, text: 'Go left.' }] });
    await north.acknowledge(lease, { seq: 1, outcome: 'queued' });
    expect([await follow(task, id, 0), await steered(task)]).toEqual([{ member_id: 'lead', status: 'queued' }, 0]);
    const waiting = follow(task, id);
    await north.acknowledge(lease, { seq: 1, outcome: 'delivered' });
    expect(await waiting).toEqual({ member_id: 'lead', status: 'delivered' });
    await north.acknowledge(lease, { seq: 1, outcome: 'delivered' });
    expect(await steered(task)).toBe(1);
    expect((await farm.view(task)).activities[0]).toMatchObject({
      kind: 'member_steered',
      summary: 'Go left.',
      member: { id: 'lead' },
    });
  });

  it('I23 O14 said again under its action it is the same act; another message under it, or an old action, is refused', async () => {
    const { task, north, lease } = await atWork();
    const id = await action(task);
    const twice = await Promise.all([1, 2].map(() => farm.steer(task, 'lead', 'Go left.', id)));
    expect(twice).toEqual([1, 2].map(() => ({ member_id: 'lead', status: 'queued' })));
    await north.acknowledge(lease, { seq: 1, outcome: 'delivered' });
    expect(await farm.steer(task, 'lead', 'Go left.', id)).toMatchObject({ status: 'delivered' });
    expect(await farm.sql(`select 1 from signal where job = '${lease.id}'`)).toHaveLength(1);
    await expect(farm.steer(task, 'lead', 'Go right.', id)).rejects.toMatchObject({ code: 'conflict' });
    const next = await action(task);
    expect(next).not.toBe(id);
    expect(await farm.steer(task, 'lead', 'Go right.', next)).toMatchObject({ status: 'queued' });
    await expect(farm.steer('t_00000000', 'lead', 'Go.', next)).rejects.toMatchObject({ code: 'not_found' });
    await expect(farm.steer(task, 'nobody', 'Go.', await action(task))).rejects.toMatchObject({ code: 'conflict' });
  });

  it('is offered only while the session runs: not before it starts, nor while it hands in, pauses or is over', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    expect(await action(task)).toBeUndefined();
    const lease = await north.claim();
    expect(await action(task)).toBeUndefined();
    await north.beat(lease, 'started');
    const id = await action(task);
    expect(id).toMatch(/^action\./);
    await north.beat(lease, 'capturing');
    expect(await action(task)).toBeUndefined();
    await expect(farm.steer(task, 'lead', 'Go.', id)).rejects.toMatchObject({ code: 'conflict' });
    const other = await atWork();
    const offered = await action(other.task);
    await farm.control(other.task, 'pause');
    expect(await action(other.task)).toBeUndefined();
    await expect(farm.steer(other.task, 'lead', 'Go.', offered)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('O14 answers what the session says: it took nothing, or nobody knows, and then it is not sent again', async () => {
    const { task, north, lease } = await atWork();
    const first = await action(task);
    await farm.steer(task, 'lead', 'Go left.');
    await north.acknowledge(lease, { seq: 1, outcome: 'not_running' });
    await expect(follow(task, first)).rejects.toMatchObject({ code: 'conflict' });
    await expect(farm.steer(task, 'lead', 'Go left.', first)).rejects.toMatchObject({ code: 'conflict' });
    const second = await action(task);
    await farm.steer(task, 'lead', 'Go left.', second);
    await north.acknowledge(lease, { seq: 2, outcome: 'uncertain' });
    expect(await follow(task, second)).toMatchObject({ status: 'uncertain' });
    expect(await north.beat(lease)).not.toHaveProperty('steer');
    const third = await action(task);
    await farm.steer(task, 'lead', 'Go left.', third);
    await north.complete(lease, 'crashed');
    expect(await follow(task, third)).toMatchObject({ status: 'uncertain' });
    expect(await steered(task)).toBe(0);
  });

  it('I6 is told again to the session that begins the same Dispatch anew, and stands in every later one of the Assignment', async () => {
    const { task, worker, north, lease } = await atWork();
    await farm.steer(task, 'lead', 'Go left.');
    await north.acknowledge(lease, { seq: 1, outcome: 'delivered' });
    await farm.steer(task, 'lead', 'In doubt.');
    await north.acknowledge(lease, { seq: 2, outcome: 'uncertain' });
    await farm.steer(task, 'lead', 'Then right.');
    const request = await farm.sql(`select request from dispatch where id = '${lease.id}'`);
    await farm.time.pass(leaseTime + 1);
    await farm.queue.sweep();
    const south = worker('south');
    const again = await south.begin();
    expect(again).toMatchObject({ id: lease.id, epoch: 2 });
    const told = [
      { seq: 1, text: 'Go left.' },
      { seq: 3, text: 'Then right.' },
    ];
    expect(await south.beat(again)).toMatchObject({ steer: told });
    expect(await farm.sql(`select request from dispatch where id = '${lease.id}'`)).toEqual(request);
    await south.acknowledge(again, { seq: 1, outcome: 'delivered' }, { seq: 3, outcome: 'delivered' });
    expect(await steered(task)).toBe(2);
    await south.complete(again, 'crashed');
    const next = await south.begin();
    expect((await south.context(next)).steering.map(({ message }) => message)).toEqual(['Go left.', 'Then right.']);
    const [row] = await farm.sql<{ request: { input: string } }>(
      `select request from dispatch where id = '${next.id}'`,
    );
    expect(row?.request.input).toMatch(/<steering>[\s\S]*Go left\.[\s\S]*Then right\.[\s\S]*<\/steering>/);
  });

  it('D11 is not told again to a session that goes on', async () => {
    const { task, north, lease } = await atWork();
    await farm.steer(task, 'lead', 'Go left.');
    await north.acknowledge(lease, { seq: 1, outcome: 'delivered' });
    await farm.time.pass(leaseTime + 1);
    const on = await north.claim([{ job_id: lease.id, lease_id: lease.lease_id }]);
    expect(on).toMatchObject({ continues: true, epoch: 2 });
    // asked again by its farm, the machine knows what became of it
    await north.beat(on, 'started');
    await north.acknowledge(on, { seq: 1, outcome: 'delivered' });
    expect(await north.beat(on)).not.toHaveProperty('steer');
    expect(await steered(task)).toBe(1);
  });

  it('hears nothing of who does not hold the lease', async () => {
    const { task, worker, lease } = await atWork();
    await farm.steer(task, 'lead', 'Go left.');
    await worker('south').acknowledge(lease, { seq: 1, outcome: 'delivered' });
    expect(await steered(task)).toBe(0);
  });

  it('P1 is heard and told in one transaction: broken off, the word comes again', async () => {
    const { task, north, lease } = await atWork();
    await farm.steer(task, 'lead', 'Go left.');
    const broken = await farm.breakAt(task, 'member_steered');
    await expect(north.acknowledge(lease, { seq: 1, outcome: 'delivered' })).rejects.toThrow('broken off');
    await broken.mend();
    expect(await north.beat(lease)).toMatchObject({ steer: [{ seq: 1 }] });
    await north.acknowledge(lease, { seq: 1, outcome: 'delivered' });
    expect(await steered(task)).toBe(1);
  });

  it('N7 keeps its limits: at them it is said, one over is refused', async () => {
    const input = { task_id: 't_00000000', member_id: 'lead', action_id: 'x' };
    const says = (length: number) => taskMemberSteer.input.safeParse({ ...input, message: 'x'.repeat(length) }).success;
    expect([says(0), says(1), says(limits.steerMessage), says(limits.steerMessage + 1)]).toEqual([
      false,
      true,
      true,
      false,
    ]);
    const { task, north, lease } = await atWork();
    for (let n = 1; n <= limits.steersPerAssignment; n += 1) {
      await farm.steer(task, 'lead', `Step ${n}.`);
      await north.acknowledge(lease, { seq: n, outcome: 'delivered' });
    }
    expect(await action(task)).toBeUndefined();
    const [row] = await farm.sql(`select principal from steer where task = '${task}' limit 1`);
    expect(row).toEqual({ principal: person });
  });
});
