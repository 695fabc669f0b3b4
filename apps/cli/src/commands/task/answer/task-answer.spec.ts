import { afterEach, describe, expect, it } from '@jest/globals';
import { type AnsweringFarm, anAnsweringFarm, problem, runCli } from '../../../../../../test/support/answering-farm.js';
import { aTaskOverview } from '../../../../../../test/support/task-overview.js';

let farm: AnsweringFarm | undefined;
afterEach(() => farm?.close());

const task = 't_00000000';
const first = '00000000-0000-4000-8000-000000000001';
const second = '00000000-0000-4000-8000-000000000002';
const way = {
  id: 'way',
  prompt: 'Which way?',
  options: [
    { id: 'left', title: 'Left' },
    { id: 'right', title: 'Right', description: 'past the mill' },
  ],
  allow_other: true,
  allow_skip: false,
};
const port = {
  id: 'port',
  prompt: 'Which port?',
  response_schema: { type: 'integer' },
  allow_other: false,
  allow_skip: true,
};
const name = {
  id: 'name',
  prompt: 'Its name?',
  response_schema: { type: 'string' },
  allow_other: false,
  allow_skip: false,
};

const request = (request_id: string, items: readonly object[], status = 'open') => ({
  request_id,
  kind: 'input',
  member: { id: 'lead', name: 'Lead' },
  summary: 'I need to know.',
  items,
  items_total: items.length,
  files: [],
  files_total: 0,
  opened_at: '2026-01-01T00:00:00Z',
  due_at: '2026-01-02T00:00:00Z',
  default_behavior: 'go \u001b[2Jleft',
  status,
  resolution: null,
  actions:
    status === 'open'
      ? [
          { id: `answer-${request_id}`, kind: 'answer' },
          { id: `cancel-${request_id}`, kind: 'cancel' },
        ]
      : [],
});
const view = (human_requests: readonly object[]) =>
  aTaskOverview(task, {
    product_status: 'waiting_for_you',
    attention: [{ kind: 'human_request', summary: 'I need to know.' }],
    human_requests,
  });

/** A farm whose Task asks this, and what it was answered. */
async function asking(...requests: readonly object[]) {
  const opened = await anAnsweringFarm(({ path }) => {
    if (path.endsWith('/task_get')) return { json: { result: view(requests) } };
    if (!path.endsWith('/human_request_respond')) return undefined;
    const { input } = JSON.parse(opened.asked.at(-1)?.body.toString() ?? '{}').input;
    const status = input.kind === 'cancel' ? 'cancelled' : 'answered';
    return { json: { result: { request_id: first, status, continuation_pending: false } } };
  });
  farm = opened;
  const run = (words: readonly string[], around: Parameters<typeof runCli>[1] = {}) =>
    runCli(['task', ...words], { ...around, env: { LONGSHORE_CREDENTIAL: opened.credential } });
  const said = () => {
    const [last] = opened.asked.filter(({ path }) => path.endsWith('/human_request_respond')).slice(-1);
    return last && JSON.parse(last.body.toString()).input;
  };
  return { run, said };
}

describe('task answer', () => {
  it('O15 answers by flags: an option by number or id, own words, a value, a skip; under the action of the view', async () => {
    const { run, said } = await asking(request(first, [way, port, name]));
    const ran = await run(['answer', task, '--answer', 'way=2', '--answer', 'name=a=b', '--skip', 'port']);
    expect([ran.exit, ran.stdout]).toEqual([0, `${first} answered\n`]);
    expect(said()).toEqual({
      task_id: task,
      request_id: first,
      action_id: `answer-${first}`,
      input: {
        kind: 'answer',
        item_responses: [
          { kind: 'option', item_id: 'way', option_id: 'right' },
          { kind: 'value', item_id: 'name', value: 'a=b' },
          { kind: 'skipped', item_id: 'port' },
        ],
      },
    });
    await run(['answer', task, first, '--other', 'way=Over the wall', '--answer', 'port=80', '--answer', 'name=x']);
    expect(said().input.item_responses).toEqual([
      { kind: 'value', item_id: 'port', value: 80 },
      { kind: 'value', item_id: 'name', value: 'x' },
      { kind: 'other', item_id: 'way', text: 'Over the wall' },
    ]);
  });

  it('asks a person at the terminal until the answer is one', async () => {
    const { run, said } = await asking(request(first, [way, way, port, name]));
    const person = [
      { sees: '1 to 2', types: '3\r' },
      { sees: 'must be one of left, right', types: '\u007fright\r' },
      { sees: '1 to 2', types: 'o\r' },
      { sees: 'own words', types: 'Over the wall\r' },
      { sees: 's to skip', types: 's\r' },
      { sees: 'Your answer', types: 'Ada\r' },
    ];
    const ran = await run(['answer', task, '--json'], { person });
    expect([ran.exit, JSON.parse(ran.stdout)]).toMatchObject([0, { status: 'answered' }]);
    expect(said().input.item_responses).toEqual([
      { kind: 'option', item_id: 'way', option_id: 'right' },
      { kind: 'other', item_id: 'way', text: 'Over the wall' },
      { kind: 'skipped', item_id: 'port' },
      { kind: 'value', item_id: 'name', value: 'Ada' },
    ]);
  });

  it('takes the answer as JSON by stdin, or no answer', async () => {
    const { run, said } = await asking(request(first, [way]));
    const response = { kind: 'option', item_id: 'way', option_id: 'left' };
    expect((await run(['answer', task, '--input', '-'], { stdin: JSON.stringify([response]) })).exit).toBe(0);
    expect(said().input).toEqual({ kind: 'answer', item_responses: [response] });
    expect((await run(['answer', task, '--cancel-request'])).stdout).toContain('cancelled');
    expect(said()).toMatchObject({ action_id: `cancel-${first}`, input: { kind: 'cancel' } });
  });

  it('A9.4 ends with 2 for what is no answer, 3 where nobody asks, 6 where the question is over, and sends nothing', async () => {
    const { run, said } = await asking(request(first, [way]), request(second, [way], 'answered'));
    for (const [words, exit, why] of [
      [['--answer', 'way=up'], 2, 'must be one of left, right'],
      [['--answer', 'where=left'], 2, 'must name one of way'],
      [['--skip', 'way', '--cancel-request'], 2, 'exclude each other'],
      [[], 2, '--answer way=left'],
      [[second, '--answer', 'way=left'], 6, 'This request is answered'],
      [['nobody', '--answer', 'way=left'], 3, 'no such request'],
    ] as const) {
      const ran = await run(['answer', task, ...words]);
      expect([ran.exit, ran.stderr]).toEqual([exit, expect.stringContaining(why)]);
    }
    expect((await run(['answer', task, '--input', '-'], { stdin: '[{"kind":"perhaps"}]' })).exit).toBe(2);
    expect(said()).toBeUndefined();
    await farm?.close();
    const quiet = await asking();
    expect((await quiet.run(['answer', task])).exit).toBe(3);
    await farm?.close();
    const two = await asking(request(first, [way]), request(second, [way]));
    expect(await two.run(['answer', task, '--answer', 'way=left'])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining(first),
    });
    const person = [{ sees: 'Which one', types: '2\r' }];
    await two.run(['answer', task, '--answer', 'way=left'], { person });
    expect(two.said()).toMatchObject({ request_id: second });
  });

  it('is refused as the farm refuses it', async () => {
    farm = await anAnsweringFarm(({ path }) =>
      path.endsWith('/task_get') ? { json: { result: view([request(first, [way])]) } } : problem('conflict', 409),
    );
    const ran = await runCli(['task', 'answer', task, '--answer', 'way=1'], {
      env: { LONGSHORE_CREDENTIAL: farm.credential },
    });
    expect(ran.exit).toBe(6);
  });

  it('H38 task get shows what is asked, without what a terminal obeys, and how it is answered', async () => {
    const { run } = await asking(request(first, [way, port]));
    const { stdout } = await run(['get', task]);
    expect(stdout).toContain('Lead asks (input)  I need to know.');
    expect(stdout).toContain('  2  Right: past the mill  right');
    expect(stdout).toContain('until 2026-01-02T00:00:00Z, else: go left');
    expect(stdout).toContain(`to answer: longshore task answer ${task}`);
  });
});
