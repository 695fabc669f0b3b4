import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { limits } from '#contracts';
import { inTurn } from '../../../../test/support/in-turn.js';
import { aTeamFarm, person, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow('solo');
  await farm.workflow('tree', { children: [{ id: 'left', children: [{ id: 'leaf' }] }, { id: 'right' }] });
});
afterAll(() => farm.close());

const green = { summary: 'Done', outcome: 'green' } as const;
const blocked = { summary: 'No way', outcome: 'blocked' } as const;
type Alone = Awaited<ReturnType<TeamFarm['alone']>>;
type Worker = ReturnType<Alone['worker']>;
type Lease = Awaited<ReturnType<Worker['begin']>>;

const teamOf = async (task: string) =>
  (
    await farm.sql<{ member: string }>(
      `select member from team_member m join task t on t.team_revision = m.revision where t.id = '${task}' order by depth, position`,
    )
  ).map(({ member }) => member);
const openOf = (task: string) =>
  farm.sql<{ reason: string; state: string; member: string }>(
    `select d.reason, j.state, d.pins->>'member' as member from dispatch d join job j on j.id = d.id
     where d.task = '${task}' and d.closed_at is null order by member`,
  );
const control = async (task: string, kind: 'pause' | 'cancel') => {
  const action_id = (await farm.view(task)).actions.find((offered) => offered.kind === kind)?.id ?? '';
  return () => farm.tx((tx) => farm.teams.tasks.control(tx, { principal: person }, { task_id: task, action_id }));
};

/** The lead has said its change, and its work is about to arrive. */
async function changing(workflow_id = 'solo') {
  const { task, worker } = await farm.alone({ workflow_id });
  const north = worker('north');
  const lead = await north.begin();
  const callId = randomUUID();
  await north.addChild(lead, { title: 'Helper' }, callId);
  return { task, north, arrives: () => north.complete(lead, 'handover', { handover: { call_id: callId } }) };
}

/** The lead has given work to both; their leases, by name. */
async function both() {
  const { task, worker } = await farm.alone({ workflow_id: 'tree' });
  const north = worker('north');
  const lead = await north.begin();
  const assignments = ['left', 'right'].map((child_id) => ({ child_id, prompt: 'Do it' }));
  await north.handOverBy(lead, (callId) => north.delegate(lead, { assignments }, callId));
  const leases = [await north.begin(), await north.begin()];
  const of = async (member: string): Promise<Lease> => {
    for (const lease of leases) if ((await north.context(lease)).current_member.id === member) return lease;
    throw new Error(`no lease of ${member}`);
  };
  return { task, north, left: await of('left'), right: await of('right') };
}

describe('a change of the team', () => {
  it('R5 that arrives as the Task is cancelled is applied whole or not at all, whichever has the Task first', async () => {
    for (const cancelFirst of [false, true]) {
      const { task, arrives } = await changing();
      const cancel = await control(task, 'cancel');
      const [one, two] = cancelFirst ? [cancel, arrives] : [arrives, cancel];
      const [, second] = await inTurn(farm, task, one, two);
      expect(await teamOf(task)).toHaveLength(cancelFirst ? 1 : 2);
      if (cancelFirst) expect(second).toMatchObject({ status: 'fulfilled', value: { state: 'cancelled', kept: true } });
      else {
        // Who cancels saw another team: they look again.
        expect(second).toMatchObject({ status: 'rejected', reason: { code: 'conflict' } });
        expect(await openOf(task)).toMatchObject([{ reason: 'structural_replan', state: 'queued' }]);
        await farm.control(task, 'cancel');
      }
      expect(await farm.view(task)).toMatchObject({ status: 'cancelled', result: null });
      expect(await openOf(task)).toEqual([]);
    }
  });

  it('R5 R6 that arrives as the Task is paused is applied, and its successor waits for Resume', async () => {
    for (const pauseFirst of [false, true]) {
      const { task, arrives } = await changing();
      const pause = await control(task, 'pause');
      const [one, two] = pauseFirst ? [pause, arrives] : [arrives, pause];
      const [first, second] = await inTurn(farm, task, one, two);
      expect(first.status).toBe('fulfilled');
      expect(second).toMatchObject(pauseFirst ? { status: 'fulfilled' } : { reason: { code: 'conflict' } });
      if (!pauseFirst) await farm.control(task, 'pause');
      expect(await teamOf(task)).toHaveLength(2);
      expect(await openOf(task)).toMatchObject([{ reason: 'structural_replan', state: 'held' }]);
      await farm.control(task, 'resume');
      expect(await openOf(task)).toMatchObject([{ reason: 'structural_replan', state: 'queued' }]);
    }
  });

  it('R5 that arrives with another of a sibling leaves both changes, and with a sibling’s report both', async () => {
    for (const rightFirst of [false, true]) {
      const { task, north, left, right } = await both();
      const calls = [randomUUID(), randomUUID()];
      await north.addChild(left, { title: 'Of left' }, calls[0]);
      await north.addChild(right, { title: 'Of right' }, calls[1]);
      const ends = [left, right].map(
        (lease, n) => () => north.complete(lease, 'handover', { handover: { call_id: calls[n] } }),
      );
      const [one, two] = rightFirst ? ends.reverse() : ends;
      if (!one || !two) throw new Error('there are two');
      await inTurn(farm, task, one, two);
      expect(await teamOf(task)).toHaveLength(6);
      expect(await openOf(task)).toMatchObject([
        { member: 'left', reason: 'structural_replan' },
        { member: 'right', reason: 'structural_replan' },
      ]);
    }
    const { task, north, left, right } = await both();
    const calls = [randomUUID(), randomUUID()];
    await north.addChild(left, { title: 'Of left' }, calls[0]);
    await north.checkpoint(right, green, calls[1]);
    await Promise.all(
      [left, right].map((lease, n) => north.complete(lease, 'handover', { handover: { call_id: calls[n] } })),
    );
    expect(await teamOf(task)).toHaveLength(5);
    expect(await openOf(task)).toMatchObject([{ member: 'left', reason: 'structural_replan' }]);
  });

  it('R5 D2 that is said with a report at the same moment is the one handover, or is refused', async () => {
    const { task, worker } = await farm.alone();
    const north = worker('north');
    const lead = await north.begin();
    const said = await Promise.allSettled([north.addChild(lead, { title: 'Helper' }), north.checkpoint(lead, green)]);
    expect(said.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(said.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'illegal_state' } });
    expect(await teamOf(task)).toEqual(['lead']);
  });

  it('R7 stands in the manifest of whoever begins next, also by another controller; who was at work keeps its bytes', async () => {
    const { task, north, left, right } = await both();
    const manifestOf = async (lease: Lease, teams = farm.teams) => {
      const asked = await teams.roads.request(north.shown(lease));
      if (!('manifest' in asked)) throw new Error('a Dispatch has a manifest');
      return asked.manifest;
    };
    const before = await manifestOf(right);
    expect(before).not.toContain('Of left');
    await north.handOverBy(left, (callId) => north.addChild(left, { title: 'Of left' }, callId));
    expect(await manifestOf(right)).toBe(before);
    const restarted = farm.another().teams;
    const changed = await manifestOf(await north.begin(), restarted);
    expect(changed).toContain('Of left');
    await north.complete(right, 'drained');
    expect(await manifestOf(await north.begin(), restarted)).toBe(changed);
    expect(await teamOf(task)).toHaveLength(5);
  });

  it('R11 beside a sibling that tries again leaves their Wave one successor, though no ring was heard', async () => {
    const { task, north, left, right } = await both();
    await Promise.all([
      north.handOverBy(left, (callId) => north.addChild(left, { title: 'Of left' }, callId)),
      north.handOver(right, { summary: 'Another way', outcome: 'retry' }),
    ]);
    const again = [await north.begin(), await north.begin()];
    for (const lease of again) {
      const { current_member } = await north.context(lease);
      await north.handOver(lease, current_member.id === 'left' ? blocked : green);
    }
    const controllers = [farm.teams, farm.another().teams, farm.another().teams];
    await Promise.all(controllers.map((teams) => teams.sweeps.joinWaves()));
    await farm.teams.sweeps.joinWaves();
    expect(await openOf(task)).toMatchObject([{ member: 'lead', reason: 'delegation_wave' }]);
    const { continuation, direct_team } = await north.context(await north.begin());
    expect(continuation).toMatchObject({
      members: [
        { child_id: 'left', outcome: 'blocked' },
        { child_id: 'right', outcome: 'green' },
      ],
    });
    expect(direct_team).toMatchObject([{ participation: 'required' }, { participation: 'satisfied' }]);
  });

  it('R13 leaves a lane that it did not touch its recoveries, and the one that made it its own', async () => {
    const { task, north, left, right } = await both();
    await north.handOverBy(left, (callId) => north.addChild(left, { title: 'Of left' }, callId));
    await north.complete(right, 'crashed');
    const next = [await north.begin(), await north.begin()];
    const told = await Promise.all(next.map((lease) => north.context(lease)));
    expect(told.map(({ continuation }) => continuation)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'structural_replan' }),
        expect.objectContaining({ kind: 'watchdog_recovery', source_dispatch: right.id, recovery_count: 1 }),
      ]),
    );
    for (const [n, lease] of next.entries())
      if (told[n]?.current_member.id === 'left') await north.complete(lease, 'silent');
    const recovered = await north.begin();
    const context = await north.context(recovered);
    expect(context).toMatchObject({
      current_member: { id: 'left', behavior: 'manager' },
      continuation: { kind: 'watchdog_recovery', recovery_count: 1 },
    });
    expect(context.direct_team).toHaveLength(2);
    expect(context.dispatch.attempt_id).toMatch(/\.1$/);
    expect(
      await farm.sql(
        `select member, recoveries from assignment where task = '${task}' and parent is not null order by member`,
      ),
    ).toEqual([
      { member: 'left', recoveries: 1 },
      { member: 'right', recoveries: 1 },
    ]);
    expect(limits.recoveries).toBe(2);
  });
});
