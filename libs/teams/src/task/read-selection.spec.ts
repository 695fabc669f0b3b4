import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { limits } from '#contracts';
import { aTeamFarm, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow('pair', {
    title: 'Ada',
    capabilities: { human_request: ['input'] },
    children: [{ id: 'builder', title: 'Bob', description: 'Builds', instruction: 'Build it.' }],
  });
});
afterAll(() => farm.close());

const notFound = { code: 'not_found' };
const long = (word: string, characters: number) => word.repeat(characters).slice(0, characters);

/** The lead has delegated to its builder, which has said something. */
async function aPair() {
  const { task, worker } = await farm.alone({ workflow_id: 'pair' });
  const north = worker('north');
  const lead = await north.begin();
  await north.handOverBy(lead, (callId) =>
    north.delegate(lead, { assignments: [{ child_id: 'builder', prompt: 'Build the mill.', files: [] }] }, callId),
  );
  return { task, north, lead, builder: await north.begin() };
}

/** The lead asks with questions of about so many characters. */
async function anAsker(characters: number) {
  const { task, worker } = await farm.alone({ workflow_id: 'pair' });
  const north = worker('north');
  const lease = await north.begin();
  let id = '';
  await north.handOverBy(
    lease,
    async (callId) => {
      const request = {
        kind: 'input' as const,
        summary: long('May I? ', 2_000),
        items: [{ id: 'why', prompt: long('Why? ', characters), response_schema: { type: 'string' } }],
        files: [{ path: 'plan.md', description: 'The plan' }],
      };
      id = (await north.ask(lease, request, callId)).request_id;
    },
    { files: { 'plan.md': 'p\n' }, include: ['plan.md'] },
  );
  return { task, id };
}

describe('a part of a Task', () => {
  it('O11 I24 is one member: who it is, what it was given, what it said last, who is below it', async () => {
    const { task, north, lead, builder } = await aPair();
    await north.checkpoint(builder, { summary: 'Half of it', details: long('Wheel. ', 5_000) });
    await north.plan(builder, [{ step: 'Wheel', status: 'in_progress' }]);
    const member = await farm.select(task, { kind: 'member', member_id: 'builder' });
    expect(member).toMatchObject({
      selection: 'member',
      task_id: task,
      parent_id: 'lead',
      name: 'Bob',
      description: 'Builds',
      instruction: 'Build it.',
      behavior: 'contributor',
      children: [],
      state: 'working',
      mission: { prompt: 'Build the mill.', files: [] },
      plan: { steps: [{ step: 'Wheel', status: 'in_progress' }] },
      latest_update: { summary: 'Half of it', details: long('Wheel. ', 5_000), outcome: null },
    });
    const above = await farm.select(task, { kind: 'member', member_id: 'lead' });
    expect(above).toMatchObject({
      behavior: 'manager',
      state: 'waiting',
      children: [{ member_id: 'builder', name: 'Bob', state: 'working' }],
      capabilities: { human_request: ['input'] },
    });
    const rows = await farm.sql<{ id: string }>(`select id from assignment where task = '${task}'`);
    for (const id of [lead.id, builder.id, ...rows.map((row) => row.id)])
      expect(JSON.stringify([member, above])).not.toContain(id);
  });

  it('O11 is the Result, whole; there is none before the end', async () => {
    const { task, worker } = await farm.alone({ workflow_id: 'pair' });
    await expect(farm.select(task, { kind: 'result' })).rejects.toMatchObject(notFound);
    const north = worker('north');
    const files = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`f${n}.txt`, 'x\n']));
    const details = long('By hand. ', 9_000);
    await north.handOver(await north.begin(), { summary: 'No key', details, outcome: 'blocked' }, files);
    const whole = await farm.select(task, { kind: 'result' });
    expect(whole).toMatchObject({ selection: 'result', result: { outcome: 'blocked', details } });
    expect(whole.selection === 'result' && whole.result.files_changed).toHaveLength(25);
    const { result, truncated } = await farm.view(task);
    expect(result?.details).toHaveLength(limits.overviewExcerpt);
    expect([result?.files_changed.length, result?.files_changed_total]).toEqual([20, 25]);
    expect(truncated).toEqual(['result']);
  });

  it('O11 is an activity, with all that it says; no other fact of the record is one', async () => {
    const { task, north, builder } = await aPair();
    const summary = long('Built. ', 2_000);
    await north.handOver(builder, { summary, outcome: 'green' });
    const { activities, truncated } = await farm.view(task);
    const [done] = activities;
    expect(done).toMatchObject({ kind: 'work_completed', summary: expect.stringMatching(/…$/) });
    expect(truncated).toEqual(['activities', 'team']);
    const activity = await farm.select(task, { kind: 'activity', activity_id: done?.id ?? '' });
    expect(activity).toMatchObject({ activity: { id: done?.id, kind: 'work_completed', summary } });

    const other = await farm.task({ workflow_id: 'pair' });
    const facts = await farm.sql<{ seq: number; type: string }>(
      `select seq, type from task_event where task = '${task}'`,
    );
    const untold = facts.find(({ type }) => type === 'dispatch_opened')?.seq ?? 0;
    const strangers = [`activity.${task}.${untold}`, `activity.${task}.9999999999`, `activity.${task}.x`, 'x'];
    for (const activity_id of strangers)
      await expect(farm.select(task, { kind: 'activity', activity_id })).rejects.toMatchObject(notFound);
    const foreign = farm.select(other, { kind: 'activity', activity_id: done?.id ?? '' });
    await expect(foreign).rejects.toMatchObject(notFound);
  });

  it('O11 is what a member asks, and its files apart; an overview shows short questions whole and long ones not', async () => {
    const short = await anAsker(100);
    const [inline] = (await farm.view(short.task)).human_requests;
    expect(inline).toMatchObject({ items: [{ id: 'why' }], items_total: 1, files: [{ path: 'plan.md' }] });

    const { task, id } = await anAsker(4_000);
    const { human_requests, truncated } = await farm.view(task);
    expect(human_requests).toMatchObject([
      { request_id: id, items: [], items_total: 1, files_total: 1, actions: [{ kind: 'answer' }, { kind: 'cancel' }] },
    ]);
    expect(truncated).toContain('human_requests');
    expect(await farm.select(task, { kind: 'human_request', request_id: id })).toMatchObject({
      human_request: {
        summary: long('May I? ', 2_000),
        items: [{ prompt: long('Why? ', 4_000) }],
        files: [],
        files_total: 1,
        actions: [{ kind: 'answer' }, { kind: 'cancel' }],
      },
    });
    expect(await farm.select(task, { kind: 'human_request_files', request_id: id })).toEqual({
      selection: 'human_request_files',
      task_id: task,
      request_id: id,
      files: [{ path: 'plan.md', description: 'The plan' }],
    });
    for (const kind of ['human_request', 'human_request_files'] as const) {
      await expect(farm.select(short.task, { kind, request_id: id })).rejects.toMatchObject(notFound);
      await expect(farm.select(task, { kind, request_id: crypto.randomUUID() })).rejects.toMatchObject(notFound);
    }
  });

  it('O11 is an overview that stays short and counts what it leaves out, however large the team', async () => {
    const child = (n: number) => ({ id: `m${n}`, title: long(`Member ${n} `, 255) });
    const lead = { children: Array.from({ length: 24 }, (_, n) => child(n)) };
    await farm.workflow('wide', lead);
    const task = await farm.task({ workflow_id: 'wide', title: long('Mill ', 255), prompt: long('Do it. ', 60_000) });
    const view = await farm.view(task);
    expect(view.team).toHaveLength(limits.overviewList);
    expect(view.totals).toMatchObject({ team: 25, activities: 1 });
    expect(view.team[1]?.name).toHaveLength(limits.overviewName);
    expect(view.title).toHaveLength(limits.overviewName);
    expect(view.truncated).toEqual(['prompt_excerpt', 'team', 'title']);
    expect(await farm.select(task, { kind: 'member', member_id: 'm23' })).toMatchObject({
      name: long('Member 23 ', 255),
      mission: null,
      latest_update: null,
      steer_action: null,
    });
    await expect(farm.select(task, { kind: 'member', member_id: 'm24' })).rejects.toMatchObject(notFound);
  });
});
