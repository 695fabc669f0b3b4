import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { limits } from '#contracts';
import { aTeamFarm, type TeamFarm } from '../../../../test/support/team-farm.js';

/** Leads of a few each: together one member more than there are lanes. */
const managers = 6;
const team = Array.from({ length: managers }, (_, n) => ({
  id: `lead${n}`,
  children: Array.from({ length: n < 3 ? 6 : 5 }, (_, m) => ({ id: `m${n}-${m}` })),
}));
const members = team.flatMap(({ children }) => children.map(({ id }) => id));

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow('many', { children: team });
  await farm.workflow();
});
afterAll(() => farm.close());

const green = { summary: 'Done', outcome: 'green' } as const;

describe('a Task with more work than lanes', () => {
  it('has as many Dispatches at work as there are lanes, shows what the one more waits for, and loses none', async () => {
    expect(members).toHaveLength(limits.lanesPerTask + 1);
    const { task, worker } = await farm.alone({ workflow_id: 'many' });
    const other = await farm.alone();
    const north = worker('north');
    const lead = await north.begin();
    const give = (lease: typeof lead, ids: readonly string[]) =>
      north.handOverBy(lease, (callId) =>
        north.delegate(lease, { assignments: ids.map((child_id) => ({ child_id, prompt: 'Do it' })) }, callId),
      );
    await give(
      lead,
      team.map(({ id }) => id),
    );
    for (const _ of team) {
      const lease = await north.begin();
      const { current_member } = await north.context(lease);
      await give(lease, team.find(({ id }) => id === current_member.id)?.children.map(({ id }) => id) ?? []);
    }
    const leases = [];
    for (let n = 0; n < limits.lanesPerTask; n += 1) leases.push(await north.begin());
    await expect(north.claim()).rejects.toThrow('nothing to claim');
    expect(await farm.view(task)).toMatchObject({ status: 'running', product_status: 'working' });
    const { jobs } = await farm.queue.list(farm.database, { scope: task, state: 'queued', limit: 5 });
    expect(jobs).toMatchObject([{ note: 'waiting: lanes', payload: { member_id: expect.any(String) } }]);
    const { member_id } = z.looseObject({ member_id: z.string() }).parse(jobs[0]?.payload);
    const shown = () => farm.select(task, { kind: 'member', member_id });
    expect(await shown()).toMatchObject({ state: 'waiting', waits_for: 'lanes' });
    // Another Task has lanes of its own.
    await expect(other.worker('south').begin()).resolves.toMatchObject({ epoch: 1 });

    const [first] = leases;
    if (!first) throw new Error('nobody is at work');
    await north.handOver(first, green);
    const last = await north.begin();
    expect((await north.context(last)).current_member.id).toBe(member_id);
    expect(await shown()).toMatchObject({ state: 'working', waits_for: null });
  });
});
