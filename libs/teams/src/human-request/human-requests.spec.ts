import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FarmError, HumanRequestInput, type ItemResponse, limits } from '#contracts';
import { inTurn } from '../../../../test/support/in-turn.js';
import { aTeamFarm, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow('asker', { capabilities: { human_request: ['approval', 'input'] } });
  await farm.workflow('mute');
});
afterAll(() => farm.close());

const green = { summary: 'Done', outcome: 'green' } as const;
type Ask = Parameters<ReturnType<TeamFarm['worker']>['ask']>[1];
const choice = {
  id: 'way',
  prompt: 'Which way?',
  options: [
    { id: 'left', title: 'Left' },
    { id: 'right', title: 'Right' },
  ],
};
const question: Ask = { kind: 'approval', summary: 'May I?', items: [choice] };
type Answer = Parameters<TeamFarm['respond']>[2];
const way: ItemResponse = { kind: 'option', item_id: 'way', option_id: 'left' };
const left: Answer = { kind: 'answer', item_responses: [way] };

async function anAsker(workflow_id = 'asker') {
  const { task, worker } = await farm.alone({ workflow_id });
  const north = worker('north');
  return { task, worker, north, lease: await north.begin() };
}

/** The lead has asked, and its work has arrived. */
async function asked(request: Ask = question) {
  const { task, north, lease } = await anAsker();
  let id = '';
  await north.handOverBy(lease, async (callId) => {
    id = (await north.ask(lease, request, callId)).request_id;
  });
  return { task, north, lease, id };
}
const open = async (task: string) =>
  (await farm.view(task)).attention.filter(({ kind }) => kind === 'human_request').length;

describe('a question to people', () => {
  it('M8 O15 hands over, waits for a person, and goes on with what was asked and answered', async () => {
    const { task, north, id } = await asked({
      ...question,
      timeout: { due_at: '2999-01-01T00:00:00Z', default_behavior: 'Go left' },
    });
    const view = await farm.view(task);
    expect(view).toMatchObject({
      product_status: 'waiting_for_you',
      attention: [{ kind: 'human_request', summary: 'May I?' }],
      human_requests: [
        {
          request_id: id,
          kind: 'approval',
          member: { id: 'lead' },
          status: 'open',
          items: [choice],
          default_behavior: 'Go left',
          actions: [{ kind: 'answer' }, { kind: 'cancel' }],
        },
      ],
    });
    await expect(north.begin()).rejects.toThrow('nothing to claim');
    expect(await farm.respond(task, id, left)).toEqual({
      request_id: id,
      status: 'answered',
      continuation_pending: false,
    });
    const next = await north.begin();
    expect((await north.context(next)).continuation).toMatchObject({
      kind: 'human_result',
      request: { request_id: id, summary: 'May I?', default_behavior: 'Go left' },
      resolution: { kind: 'answered', item_responses: [way] },
    });
    expect(await open(task)).toBe(0);
    await north.handOver(next, green);
    expect((await farm.view(task)).activities.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['input_requested', 'input_received']),
    );
  });

  it('I20 is for who was granted that very kind: at the door only those, and a guess is refused', async () => {
    const { lease, north } = await anAsker();
    expect(lease.payload).toMatchObject({
      tools: expect.arrayContaining(['open_human_request']),
      human_kinds: ['approval', 'input'],
    });
    await expect(north.ask(lease, { ...question, kind: 'review' })).rejects.toMatchObject({
      code: 'capability_rejected',
      fields: [{ path: '/request/kind', rule: 'one_of:approval,input' }],
    });
    const mute = await anAsker('mute');
    expect(mute.lease.payload).toMatchObject({ tools: expect.not.arrayContaining(['open_human_request']) });
    await expect(mute.north.ask(mute.lease, question)).rejects.toMatchObject({ code: 'capability_rejected' });
  });

  it('R2 D2 is one of two handovers that come at once: the first stands and is applied, the other is refused', async () => {
    for (const askFirst of [true, false]) {
      const { task, north, lease } = await anAsker();
      const calls = { ask: randomUUID(), report: randomUUID() };
      const ask = () => north.ask(lease, question, calls.ask);
      const report = () => north.checkpoint(lease, green, calls.report);
      const [one, two] = askFirst ? [ask, report] : [report, ask];
      const [first, second] = await inTurn(farm, task, one, two);
      expect(first.status).toBe('fulfilled');
      expect(second).toMatchObject({ status: 'rejected', reason: { code: 'illegal_state' } });
      expect(await farm.sql(`select 1 from human_request where task = '${task}'`)).toEqual([]);
      const end = (call_id: string) => north.complete(lease, 'handover', { handover: { call_id } });
      const [mine, other] = askFirst ? [calls.ask, calls.report] : [calls.report, calls.ask];
      await expect(end(other)).rejects.toMatchObject({ code: 'handover_refused' });
      await end(mine);
      expect(await farm.view(task)).toMatchObject(
        askFirst
          ? { status: 'running', human_requests: [{ status: 'open' }] }
          : { status: 'completed', human_requests: [] },
      );
    }
  });

  it('I22 names files that its work holds, or is refused', async () => {
    const { task, north, lease } = await anAsker();
    const ask = (path: string) =>
      north.handOverBy(lease, (callId) => north.ask(lease, { ...question, files: [{ path }] }, callId), {
        files: { 'here.md': 'here\n' },
      });
    await expect(ask('nowhere.md')).rejects.toMatchObject({
      code: 'handover_refused',
      detail: expect.stringContaining('invalid_task_path'),
    });
    expect(await farm.sql(`select 1 from human_request where task = '${task}'`)).toEqual([]);
    await ask('here.md');
    expect((await farm.view(task)).human_requests).toMatchObject([{ files: [{ path: 'here.md' }] }]);
  });

  it('is answered once: the second answer, an old view’s and a twin of the first change nothing', async () => {
    const { task, id } = await asked();
    const [action] = (await farm.view(task)).human_requests[0]?.actions ?? [];
    const answers = await Promise.allSettled(Array.from({ length: 4 }, () => farm.respond(task, id, left, action?.id)));
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const answer of answers)
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'conflict' });
    await expect(farm.respond(task, id, { kind: 'cancel' }, action?.id)).rejects.toMatchObject({ code: 'conflict' });
    await expect(farm.respond(task, randomUUID(), left)).rejects.toMatchObject({ code: 'not_found' });
    expect(await farm.sql(`select 1 from dispatch where task = '${task}' and reason = 'human_result'`)).toHaveLength(1);
  });

  it('takes an answer that fits: each item once, by an option that is there, or by its schema', async () => {
    const schema = { type: 'object', properties: { port: { type: 'integer', maximum: 65_535 } }, required: ['port'] };
    const { task, id } = await asked({
      kind: 'input',
      summary: 'Some things',
      items: [
        choice,
        { id: 'where', prompt: 'Which port?', response_schema: schema },
        { id: 'more', prompt: 'More?', options: choice.options, allow_other: true, allow_skip: true },
      ],
    });
    const rules = async (...item_responses: ItemResponse[]) => {
      const refusal: unknown = await farm
        .respond(task, id, { kind: 'answer', item_responses })
        .catch((error: unknown) => error);
      if (!(refusal instanceof FarmError)) throw new Error('it was taken');
      expect(refusal.code).toBe('invalid_input');
      return refusal.fields?.map(({ rule }) => rule);
    };
    const where: ItemResponse = { kind: 'value', item_id: 'where', value: { port: 80 } };
    const more: ItemResponse = { kind: 'skipped', item_id: 'more' };
    expect(await rules(way)).toEqual(['answer:where', 'answer:more']);
    expect(await rules({ ...way, option_id: 'up' }, where, more)).toEqual(['known_option']);
    expect(await rules({ kind: 'other', item_id: 'way', text: 'Up' }, where, more)).toEqual(['other_not_allowed']);
    expect(await rules({ kind: 'skipped', item_id: 'way' }, where, more)).toEqual(['skip_not_allowed']);
    expect(await rules(way, { ...where, value: { port: 'http' } }, more)).toEqual(['response_schema']);
    expect(await rules(way, way, where)).toEqual(['answer:more', 'once']);
    await expect(farm.respond(task, id, { kind: 'answer', item_responses: [way, where, more] })).resolves.toMatchObject(
      { status: 'answered' },
    );
  });

  it('N5 keeps the limits of a question: at them it stands, one over is refused', () => {
    const ask = (more: object) => HumanRequestInput.safeParse({ ...question, ...more }).success;
    const items = (count: number) => Array.from({ length: count }, (_, n) => ({ ...choice, id: `i${n}` }));
    const options = (count: number) => Array.from({ length: count }, (_, n) => ({ id: `o${n}`, title: 'x' }));
    const text = (length: number) => 'x'.repeat(length);
    const cases: readonly (readonly [object, object])[] = [
      [{ items: items(limits.humanItems) }, { items: items(limits.humanItems + 1) }],
      [{ items: items(1) }, { items: [] }],
      [{ items: [{ ...choice, options: options(2) }] }, { items: [{ ...choice, options: options(1) }] }],
      [
        { items: [{ ...choice, options: options(limits.humanOptions) }] },
        { items: [{ ...choice, options: options(limits.humanOptions + 1) }] },
      ],
      [{ summary: text(limits.humanSummary) }, { summary: text(limits.humanSummary + 1) }],
      [
        { items: [{ ...choice, prompt: text(limits.humanPrompt) }] },
        { items: [{ ...choice, prompt: text(limits.humanPrompt + 1) }] },
      ],
      [
        { items: [{ ...choice, options: [...options(1), { id: 'z', title: text(limits.humanOptionTitle) }] }] },
        { items: [{ ...choice, options: [...options(1), { id: 'z', title: text(limits.humanOptionTitle + 1) }] }] },
      ],
      [
        {
          items: [
            {
              ...choice,
              options: [...options(1), { id: 'z', title: 'z', description: text(limits.humanOptionDescription) }],
            },
          ],
        },
        {
          items: [
            {
              ...choice,
              options: [...options(1), { id: 'z', title: 'z', description: text(limits.humanOptionDescription + 1) }],
            },
          ],
        },
      ],
      [{ items: [choice] }, { items: [{ ...choice, response_schema: {} }] }],
    ];
    for (const [at, over] of cases) expect([ask(at), ask(over)]).toEqual([true, false]);
  });

  it('refuses a schema that could not be checked safely: references, patterns, other formats, too deep, too large', async () => {
    const { north, lease } = await anAsker();
    const deep = (levels: number): object => (levels === 0 ? {} : { not: deep(levels - 1) });
    for (const [schema, rule] of [
      [{ $ref: 'https://example.test/x.json' }, 'keyword:$ref'],
      [{ type: 'string', pattern: '(a+)+$' }, 'keyword:pattern'],
      [{ type: 'string', format: 'regex' }, 'format'],
      [deep(limits.humanSchemaDepth), `max_depth:${limits.humanSchemaDepth}`],
      [
        { enum: Array.from({ length: limits.humanSchemaCollections + 1 }, () => []) },
        `max_collections:${limits.humanSchemaCollections}`,
      ],
      [{ type: 'nothing' }, 'json_schema_2020_12'],
      [[], 'type:object'],
    ] as const) {
      const items = [{ id: 'x', prompt: 'x', response_schema: schema }];
      await expect(north.ask(lease, { kind: 'input', summary: 'x', items })).rejects.toMatchObject({
        code: 'invalid_input',
        fields: [{ path: '/request/items/0/response_schema', rule }],
      });
    }
    const named = {
      type: 'object',
      properties: { pattern: { type: 'string' }, format: { type: 'string', format: 'date' } },
    };
    await expect(
      north.ask(lease, { kind: 'input', summary: 'x', items: [{ id: 'x', prompt: 'x', response_schema: named }] }),
    ).resolves.toMatchObject({ status: 'open' });
  });

  it('goes on without an answer when a person says that there will be none', async () => {
    const { task, north, id } = await asked();
    expect(await farm.respond(task, id, { kind: 'cancel' })).toMatchObject({ status: 'cancelled' });
    expect((await north.context(await north.begin())).continuation).toMatchObject({
      kind: 'human_result',
      resolution: { kind: 'cancelled', item_responses: [] },
    });
  });

  it('Q7 I14 times out while the Task is paused, and Resume goes on with that', async () => {
    const { task, north, id } = await asked({
      ...question,
      timeout: { due_at: '2020-01-01T00:00:00Z', default_behavior: 'Go left' },
    });
    await farm.sql(`update task set status = 'paused', pause_reason = 'paused_by_operator' where id = '${task}'`);
    const swept = await Promise.all([farm.teams.sweeps.expireRequests(), farm.another().teams.sweeps.expireRequests()]);
    expect(swept.flat()).toContain(task);
    await expect(north.begin()).rejects.toThrow('nothing to claim');
    expect((await farm.view(task)).human_requests).toMatchObject([{ request_id: id, status: 'expired', actions: [] }]);
    await farm.control(task, 'resume');
    expect((await north.context(await north.begin())).continuation).toMatchObject({
      kind: 'human_result',
      request: { default_behavior: 'Go left' },
      resolution: { kind: 'timed_out' },
    });
  });

  it('I14 R17 keeps an answer that comes while the Task is paused, and goes on with it once', async () => {
    const { task, north, id } = await asked();
    await farm.sql(`update task set status = 'paused', pause_reason = 'paused_by_operator' where id = '${task}'`);
    expect(await farm.respond(task, id, left)).toMatchObject({ continuation_pending: true });
    await farm.control(task, 'resume');
    await farm.teams.sweeps.retestLanes();
    expect((await north.context(await north.begin())).continuation).toMatchObject({ kind: 'human_result' });
    expect(await farm.sql(`select 1 from dispatch where task = '${task}' and reason = 'human_result'`)).toHaveLength(1);
  });

  it('R17 I26 leaves the lane waiting when a Task is resumed before the answer', async () => {
    const { task, north, id } = await asked();
    await farm.sql(`update task set status = 'paused', pause_reason = 'paused_by_operator' where id = '${task}'`);
    await farm.control(task, 'resume');
    await expect(north.begin()).rejects.toThrow('nothing to claim');
    await farm.respond(task, id, left);
    expect((await north.context(await north.begin())).continuation).toMatchObject({ kind: 'human_result' });
  });

  it('I15 is closed by a cancel of the Task, and takes no answer after it', async () => {
    const { task, id } = await asked();
    const [action] = (await farm.view(task)).human_requests[0]?.actions ?? [];
    await farm.control(task, 'cancel');
    expect((await farm.view(task)).human_requests).toMatchObject([{ status: 'cancelled' }]);
    await expect(farm.respond(task, id, left, action?.id)).rejects.toMatchObject({ code: 'conflict' });
    expect(await farm.sql(`select 1 from dispatch where task = '${task}' and closed_at is null`)).toEqual([]);
  });
});
