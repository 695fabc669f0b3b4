import { randomUUID } from 'node:crypto';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type AnsweringFarm, anAnsweringFarm, runCli } from '../../../../../test/support/answering-farm.js';
import { aTaskOverview } from '../../../../../test/support/task-overview.js';

let farm: AnsweringFarm | undefined;
afterEach(() => farm?.close());

const task = 't_00000000';
const at = '2026-01-01T00:00:00.000Z';
const asked = randomUUID();
const request = {
  request_id: asked,
  kind: 'direction',
  member: { id: 'lead', name: 'Lead' },
  summary: 'Left or right?',
  items: [
    {
      id: 'way',
      prompt: 'Which way?',
      options: [
        { id: 'left', title: 'Left' },
        { id: 'right', title: 'Right' },
      ],
    },
  ],
  items_total: 1,
  files: [],
  files_total: 0,
  opened_at: at,
  due_at: null,
  default_behavior: null,
  status: 'open',
  resolution: null,
  actions: [{ id: 'a', kind: 'answer' }],
};
const member = (member_id: string, parent_id: string | null, state: string) => ({
  member_id,
  parent_id,
  name: member_id,
  state,
  latest_update: null,
  plan: null,
});
const view = aTaskOverview(task, {
  title: 'Mend',
  status: 'cancelled',
  product_status: 'cancelled',
  ended_at: at,
  team: [member('lead', null, 'waiting'), member('builder', 'lead', 'working')],
  human_requests: [request],
});
const event = (seq: number, type: string) => ({ seq, type, at, payload: {} });

/** A Task with two answers of news, and then its end. */
async function watching(terminal: boolean) {
  const pages = [
    { status: 'running', events: [event(1, 'task_started')] },
    { status: 'running', events: [event(2, 'human_request_opened')] },
    { status: 'cancelled', events: [event(3, 'task_cancelled')] },
    { status: 'cancelled', events: [] },
  ];
  farm = await anAnsweringFarm(({ path }) => ({
    json: { result: path.endsWith('/task_events') ? pages.shift() : view },
  }));
  return runCli(['task', 'watch', task], { terminal, env: { LONGSHORE_CREDENTIAL: farm.credential } });
}

describe('task watch', () => {
  it('draws the team as a tree below the record on a terminal, anew with the news, and takes it away at the end', async () => {
    const { stdout, exit } = await watching(true);
    expect(exit).toBe(1);
    const frames = stripVTControlCharacters(stdout).split('└─ builder  ● working').length - 1;
    expect(frames).toBeGreaterThanOrEqual(2);
    expect(stdout.split('\u001b[0J').at(-1)).not.toContain('builder');
  });

  it('writes lines and nothing else into a pipe, and says once what is asked and how to answer', async () => {
    const { stdout, stderr } = await watching(false);
    expect(stdout).not.toContain('\u001b');
    expect(stdout).not.toContain('builder');
    expect(stdout.match(/task started|human request opened|task cancelled/g)).toHaveLength(3);
    expect(stderr.split('Left or right?')).toHaveLength(2);
    expect(stderr).toContain(`longshore task answer ${task}`);
  });
});
