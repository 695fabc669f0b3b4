import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addChild, limits, updateChild } from '#contracts';
import { aTeamFarm, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow('solo');
  await farm.workflow('tree', {
    children: [{ id: 'left', title: 'Left', children: [{ id: 'leaf' }] }, { id: 'right' }],
  });
});
afterAll(() => farm.close());

const green = { summary: 'Done', outcome: 'green' } as const;
type Worker = ReturnType<TeamFarm['worker']>;
type Lease = Awaited<ReturnType<Worker['begin']>>;

interface Row {
  readonly member: string;
  readonly parent: string | null;
  readonly config_id: string;
  readonly basis_id: string;
  readonly origin: string;
}
const teamOf = (task: string) =>
  farm.sql<Row>(`select member, parent, config_id, basis_id, origin from team_member m join task t on t.team_revision = m.revision
    where t.id = '${task}' order by depth, position`);

async function aLead(workflow_id: string) {
  const { task, worker } = await farm.alone({ workflow_id });
  const north = worker('north');
  return { task, worker, north, lead: await north.begin() };
}

/** Says the change, ends the Dispatch with it, and begins what follows. */
async function change(north: Worker, lease: Lease, say: (callId: string) => Promise<unknown>): Promise<Lease> {
  await north.handOverBy(lease, say);
  return north.begin();
}
const delegate = (north: Worker, lease: Lease, ...names: readonly string[]) =>
  north.handOverBy(lease, (callId) =>
    north.delegate(lease, { assignments: names.map((child_id) => ({ child_id, prompt: 'Do it' })) }, callId),
  );

describe('a change of the team', () => {
  it('M5 Q5 adds members with ids of the farm; the same attempt goes on, and green needs the new one', async () => {
    const { task, north, lead } = await aLead('solo');
    let said: unknown;
    const next = await change(north, lead, async (callId) => {
      said = await north.addChild(lead, { title: 'Helper', children: [{ title: 'Below' }] }, callId);
    });
    expect(addChild.output.parse(said)).toMatchObject({
      operation: 'add_child',
      created_ids: [expect.stringMatching(/^member-[0-9a-f]{16}$/), expect.stringMatching(/^member-[0-9a-f]{16}$/)],
      direct_team: [{ title: 'Helper', participation: 'required', availability: 'available' }],
      behavior: 'manager',
      available_actions: expect.arrayContaining(['delegate', 'update_child', 'remove_child']),
      must_stop: true,
    });
    const context = await north.context(next);
    expect(context).toMatchObject({
      continuation: { kind: 'structural_replan', operation: 'add_child', result: said },
      current_member: { behavior: 'manager' },
    });
    expect(next.payload).toMatchObject({ tools: expect.arrayContaining(['delegate']) });
    expect(context.dispatch.attempt_id).toMatch(/\.1$/);
    await expect(north.checkpoint(next, green)).rejects.toMatchObject({ code: 'boundary_precondition_failed' });
    const helper = addChild.output.parse(said).created_ids[0] ?? '';
    await delegate(north, next, helper);
    expect(await farm.eventTypes(task)).toContain('structural_revision_adopted');
  });

  it('M7 Q6 removes a branch; whose team is empty may work and say green alone', async () => {
    const { task, north, lead } = await aLead('tree');
    const second = await change(north, lead, (callId) => north.removeChild(lead, 'left', callId));
    expect((await teamOf(task)).map(({ member }) => member)).toEqual(['lead', 'right']);
    const third = await change(north, second, (callId) => north.removeChild(second, 'right', callId));
    expect((await north.context(third)).current_member.behavior).toBe('contributor');
    expect(third.payload).toMatchObject({ tools: expect.not.arrayContaining(['delegate', 'remove_child']) });
    await north.handOver(third, green);
    expect(await farm.view(task)).toMatchObject({ status: 'completed', result: { outcome: 'green' } });
  });

  it('M6 patches: what is named changes, null clears, the rest stays, listed children are changed or added', async () => {
    const { task, north, lead } = await aLead('tree');
    const next = await change(north, lead, (callId) =>
      north.updateChild(
        lead,
        {
          id: 'left',
          patch: { title: null, instruction: 'Be brief', children: [{ id: 'leaf', title: 'Leaf' }, { title: 'New' }] },
        },
        callId,
      ),
    );
    const { continuation } = await north.context(next);
    expect(continuation).toMatchObject({
      result: { updated_ids: ['left', 'leaf'], created_ids: [expect.any(String)], removed_ids: [] },
    });
    const rows = await farm.sql<{ configuration: unknown }>(
      `select configuration from team_member m join task t on t.team_revision = m.revision where t.id = '${task}' and parent in ('left', 'lead') order by depth, position`,
    );
    expect(rows.map(({ configuration }) => configuration)).toEqual([
      { id: 'left', instruction: 'Be brief' },
      { id: 'right' },
      { id: 'leaf', title: 'Leaf' },
      { id: expect.stringMatching(/^member-/), title: 'New' },
    ]);
  });

  it('I11 refreshes the branch up to the lead and nothing beside it, and leaves every older revision as it was', async () => {
    const { task, north, lead } = await aLead('tree');
    const before = await teamOf(task);
    const [old] = await farm.sql<{ id: string }>(`select team_revision as id from task where id = '${task}'`);
    await change(north, lead, (callId) => north.updateChild(lead, { id: 'leaf', patch: { title: 'Other' } }, callId));
    const after = await teamOf(task);
    const at = (rows: readonly Row[], member: string) => rows.find((row) => row.member === member);
    for (const [member, basis, config] of [
      ['lead', false, true],
      ['left', false, true],
      ['leaf', false, false],
      ['right', true, true],
    ] as const) {
      expect([member, at(after, member)?.basis_id === at(before, member)?.basis_id]).toEqual([member, basis]);
      expect([member, at(after, member)?.config_id === at(before, member)?.config_id]).toEqual([member, config]);
    }
    const kept = await farm.sql<Row>(
      `select member, parent, config_id, basis_id, origin from team_member where revision = '${old?.id}' order by depth, position`,
    );
    expect(kept).toEqual(before);
  });

  it('I8 Q11 a change inside a proven branch has it proven again, and its sibling stays proven', async () => {
    const { task, north, lead } = await aLead('tree');
    await delegate(north, lead, 'left', 'right');
    const [one, two] = [await north.begin(), await north.begin()];
    const [left, right] = JSON.stringify(one.payload).includes('"member_id":"left"') ? [one, two] : [two, one];
    await delegate(north, left, 'leaf');
    await north.handOver(await north.begin(), green);
    await farm.teams.sweeps.joinWaves();
    await north.handOver(await north.begin(), green);
    await north.handOver(right, green);
    await farm.teams.sweeps.joinWaves();
    const second = await north.begin();
    expect((await north.context(second)).direct_team).toMatchObject([
      { participation: 'satisfied' },
      { participation: 'satisfied' },
    ]);
    const third = await change(north, second, (callId) =>
      north.updateChild(second, { id: 'leaf', patch: { title: 'Other' } }, callId),
    );
    expect((await north.context(third)).direct_team).toMatchObject([
      { id: 'left', participation: 'required' },
      { id: 'right', participation: 'satisfied' },
    ]);
    expect(await farm.view(task)).toMatchObject({ status: 'running' });
  });

  it('I12 is refused where it would touch a member at work, and changes nothing', async () => {
    const { task, north, lead } = await aLead('tree');
    const before = await teamOf(task);
    // As a row that somebody else's transaction has just written: leaf is at work.
    await farm.sql(`insert into assignment (id, task, member, parent, prompt, children_limit, retry_limit, line_base, line_head)
      select gen_random_uuid(), task, 'leaf', id, 'Do it', 1, 1, line_base, line_head from assignment where task = '${task}'`);
    const busy = { code: 'illegal_state', detail: expect.stringContaining('leaf') };
    await expect(north.updateChild(lead, { id: 'left', patch: { title: 'Other' } })).rejects.toMatchObject(busy);
    await expect(north.removeChild(lead, 'left')).rejects.toMatchObject(busy);
    expect(await teamOf(task)).toEqual(before);
    await farm.sql(
      `update assignment set closed_at = clock_timestamp(), outcome = 'blocked' where task = '${task}' and member = 'leaf'`,
    );
    await expect(north.removeChild(lead, 'left')).resolves.toMatchObject({ removed_ids: ['leaf', 'left'] });
  });

  it('is for what stands below the caller: not itself, not above, not beside, not nothing', async () => {
    const { north, lead } = await aLead('tree');
    const beyond = { code: 'illegal_target_relation' };
    await expect(north.updateChild(lead, { id: 'lead', patch: { title: 'Me' } })).rejects.toMatchObject(beyond);
    await expect(north.removeChild(lead, 'nobody')).rejects.toMatchObject(beyond);
    await expect(
      north.updateChild(lead, { id: 'left', patch: { children: [{ id: 'right', title: 'Mine now' }] } }),
    ).rejects.toMatchObject({ ...beyond, fields: [{ path: '/patch/children/0/id', rule: 'direct_child' }] });
    await expect(north.updateChild(lead, { id: 'left', patch: { title: 'Left' } })).rejects.toMatchObject({
      code: 'illegal_state',
    });
    await delegate(north, lead, 'left');
    const left = await north.begin();
    await expect(north.removeChild(left, 'right')).rejects.toMatchObject(beyond);
    await expect(north.updateChild(left, { id: 'lead', patch: { title: 'Boss' } })).rejects.toMatchObject(beyond);
    const { north: alone, lead: solo } = await aLead('solo');
    await expect(alone.removeChild(solo, 'left')).rejects.toMatchObject({ code: 'illegal_caller' });
  });

  it('keeps the limits of a tree: children of one member, and levels', async () => {
    const { north, lead } = await aLead('solo');
    const wide = Array.from({ length: limits.workflowChildren }, (_, n) => ({ title: `M${n}` }));
    await expect(north.addChild(lead, { children: [...wide, { title: 'One more' }] })).rejects.toThrow();
    const deep = (levels: number): { title: string; children?: { title: string }[] } =>
      levels === 1 ? { title: 'x' } : { title: 'x', children: [deep(levels - 1)] };
    await expect(north.addChild(lead, deep(limits.workflowDepth))).rejects.toMatchObject({ code: 'budget_exhausted' });
    const next = await change(north, lead, (callId) => north.addChild(lead, deep(limits.workflowDepth - 1), callId));
    const grown = await change(north, next, (callId) => north.addChild(next, { title: 'y', children: wide }, callId));
    expect(grown.payload).toMatchObject({ member_id: 'lead' });
  });

  it('Q10 D2 is answered again when its reply was lost, with the same ids', async () => {
    const { north, lead } = await aLead('solo');
    const first = await north.addChild(lead, { title: 'Helper' });
    expect(await north.addChild(lead, { title: 'Helper' })).toEqual(first);
    await expect(north.addChild(lead, { title: 'Other' })).rejects.toMatchObject({ code: 'illegal_state' });
    await expect(north.context(lead)).rejects.toMatchObject({ code: 'stale_dispatch' });
  });

  it('D5 is applied to the team as it is when the work arrives: what a disjoint branch changed meanwhile stays', async () => {
    const { task, north, lead } = await aLead('tree');
    await delegate(north, lead, 'left', 'right');
    const leases = [await north.begin(), await north.begin()];
    const calls = leases.map(() => randomUUID());
    for (const [n, lease] of leases.entries()) await north.addChild(lease, { title: `New ${n}` }, calls[n]);
    for (const [n, lease] of leases.entries())
      await north.complete(lease, 'handover', { handover: { call_id: calls[n] } });
    const added = (await teamOf(task)).filter(({ origin }) => origin === 'task_replan');
    expect(added.map(({ parent }) => parent).sort()).toEqual(['left', 'right']);
    expect(updateChild.name).toBe('update_child');
  });

  it('R6 is applied when it comes while the Task is paused, and its successor is held', async () => {
    const { task, north, lead } = await aLead('solo');
    const callId = randomUUID();
    await north.addChild(lead, { title: 'Helper' }, callId);
    await farm.sql(`update task set status = 'paused', pause_reason = 'paused_by_operator' where id = '${task}'`);
    await north.complete(lead, 'handover', { handover: { call_id: callId } });
    expect(await teamOf(task)).toHaveLength(2);
    await expect(north.begin()).rejects.toThrow('nothing to claim');
    await farm.control(task, 'resume');
    expect((await north.context(await north.begin())).current_member.behavior).toBe('manager');
  });
});
