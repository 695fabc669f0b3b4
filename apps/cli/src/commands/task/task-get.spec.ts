import { afterEach, describe, expect, it } from '@jest/globals';
import { type AnsweringFarm, anAnsweringFarm, runCli } from '../../../../../test/support/answering-farm.js';
import { aTaskOverview } from '../../../../../test/support/task-overview.js';

const farms: AnsweringFarm[] = [];
afterEach(() => Promise.all(farms.splice(0).map((farm) => farm.close())));

const task = 't_00000000';
const request = '00000000-0000-4000-8000-000000000001';
const item = { id: 'why', prompt: 'Why?', response_schema: { type: 'string' }, allow_other: false, allow_skip: false };
const asked = {
  request_id: request,
  kind: 'input',
  member: { id: 'lead', name: 'Lead' },
  summary: 'May I?',
  items: [item],
  items_total: 1,
  files: [],
  files_total: 1,
  opened_at: '2026-01-01T00:00:00Z',
  due_at: null,
  default_behavior: null,
  status: 'open',
  resolution: null,
  actions: [],
};
const overview = aTaskOverview(task, {
  product_status: 'waiting_for_you',
  human_requests: [{ ...asked, items: [] }],
  totals: { team: 0, attention: 0, human_requests: 1, command_runs: 0, rescues: 0, activities: 0 },
  truncated: ['human_requests'],
});
const member = {
  selection: 'member',
  task_id: task,
  member_id: 'builder',
  parent_id: 'lead',
  name: 'Bob',
  description: null,
  instruction: null,
  behavior: 'contributor',
  provider: null,
  capabilities: null,
  children: [],
  state: 'working',
  waits_for: null,
  mission: { prompt: 'Build the mill.', files: [] },
  plan: null,
  latest_update: null,
  steer_action: null,
};

/** A farm that answers each selection, and what it was asked for. */
async function answering(words: readonly string[]) {
  const opened = await anAnsweringFarm(({ path }) => {
    if (!path.endsWith('/task_get')) return undefined;
    const { selection } = JSON.parse(opened.asked.at(-1)?.body.toString() ?? '{}').input;
    switch (selection?.kind) {
      case 'member':
        return { json: { result: member } };
      case 'human_request':
        return { json: { result: { selection: 'human_request', task_id: task, human_request: asked } } };
      case 'human_request_files':
        return {
          json: {
            result: {
              selection: 'human_request_files',
              task_id: task,
              request_id: request,
              files: [{ path: 'plan.md' }],
            },
          },
        };
      default:
        return { json: { result: overview } };
    }
  });
  farms.push(opened);
  const ran = await runCli(['task', 'get', task, ...words], { env: { LONGSHORE_CREDENTIAL: opened.credential } });
  const selections = opened.asked
    .filter(({ path }) => path.endsWith('/task_get'))
    .map(({ body }) => JSON.parse(body.toString()).input.selection);
  return { ...ran, selections };
}

describe('longshore task get', () => {
  it('O11 shows the part that a flag names, and takes one flag at a time', async () => {
    const shown = await answering(['--member', 'builder']);
    expect(shown.selections).toEqual([{ kind: 'member', member_id: 'builder' }]);
    expect(shown.stdout).toContain('Build the mill.');
    const both = await answering(['--member', 'builder', '--result']);
    expect([both.exit, both.selections]).toEqual([2, []]);
    const wrong = await answering(['--request', 'x']);
    expect([wrong.exit, wrong.selections]).toEqual([2, []]);
    expect(wrong.stderr).toContain('--request');
  });

  it('O11 shows a person whole what the overview cut of a question; --json is the answer of the farm', async () => {
    const shown = await answering([]);
    expect(shown.selections).toEqual([
      undefined,
      { kind: 'human_request', request_id: request },
      { kind: 'human_request_files', request_id: request },
    ]);
    expect(shown.stdout).toContain('Why?');
    expect(shown.stdout).toContain('see plan.md');
    const json = await answering(['--json']);
    expect(JSON.parse(json.stdout)).toEqual(expect.objectContaining({ truncated: ['human_requests'] }));
  });
});
