import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { exposureSet, jobSubmit, queueCancel, queueList, queueRequeue, taskOverview, workflowImport } from '#contracts';
import { type Database, openDatabase, type Statement, statement } from '#store';
import { aController, type TestController } from '../../../../../test/support/a-controller.js';
import { assistantToken, postMessage, toolResultOf } from '../../../../../test/support/mcp-client.js';
import { modern } from '../../../../../test/support/mcp-messages.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';

const api = { mcpEnabled: true, mcpMaxResultBytes: 256_000 };

let north: TestController;
let south: TestController;
let east: TestController;
let owner: Database;
let token: string;
beforeAll(async () => {
  north = await aController({ api });
  const { database, data } = north;
  [south, east] = await Promise.all([aController({ api, database, data }), aController({ api, database, data })]);
  owner = openDatabase({ url: database.ownerUrl, max: 2 });
  token = assistantToken(north, north.admin.id);
  for (const name of ['queue_cancel', 'queue_requeue', 'job_submit'])
    await north.admin.call(exposureSet, { target: name, offered: 'on' }, { confirm: true });
});
afterAll(() => owner.close());

const Proposed = z.object({
  kind: z.literal('proposal'),
  proposal: z.object({
    summary: z.string(),
    changes: z.array(z.object({ id: z.string(), before: z.unknown(), after: z.unknown() })),
    count: z.int(),
    confirmation_token: z.string(),
  }),
});

async function call(at: TestController, name: string, input: object) {
  const { headers, body } = modern('tools/call', { name, arguments: input });
  return toolResultOf(await postMessage(`${at.url}/mcp`, token, body, headers)).structuredContent;
}

const propose = async (name: string, input: object, at = north) => Proposed.parse(await call(at, name, input)).proposal;
const confirm = (name: string, input: object, { confirmation_token }: { confirmation_token: string }, at = north) =>
  call(at, name, { ...input, confirmation_token });
const codeOf = (answer: Readonly<Record<string, unknown>>) => answer.code ?? answer.kind;
const document = (id: string, description = 'One') =>
  `kind: workflow\nid: ${id}\ndescription: ${description}\nlead: {id: lead}\n`;

async function audited(kind: string): Promise<readonly string[]> {
  const rows = await owner.all(
    statement<{ outcome: string }>('test.audited', 'select outcome from audit where kind = $kind order by seq'),
    { kind },
  );
  return rows.map(({ outcome }) => outcome);
}

describe('an assistant, by three controllers', () => {
  it('A6.3 A6.16 is told which revision a workflow and a Task would have, and is refused when that moves', async () => {
    const first = { document: document('team') };
    const proposed = await propose('workflow_import', first);
    expect(proposed.changes).toEqual([{ id: 'team', before: null, after: { revision_no: 'new' } }]);
    expect(await confirm('workflow_import', first, proposed, south)).toMatchObject({ result: { accepted: true } });

    const start = { workflow_id: 'team', prompt: 'Do it.' };
    const task = await propose('task_start', start, south);
    expect(task).toMatchObject({ count: 1, changes: [{ before: null, after: { revision_no: 1, source: 'empty' } }] });
    await north.admin.call(workflowImport, { document: document('team', 'Two') });
    expect(codeOf(await confirm('task_start', start, task, east))).toBe('changed_since_proposal');
    expect((await propose('task_start', start)).changes).toMatchObject([{ after: { revision_no: 2 } }]);

    expect(await propose('workflow_import', { document: 'kind: workflow\n' })).toMatchObject({ changes: [], count: 0 });
    expect(await call(north, 'task_start', { workflow_id: 'nobody', prompt: 'x' })).toMatchObject({
      code: 'not_found',
    });
  });

  it('A6.16 A6.17 is told what would become of a Task and a job, and hears of a lost answer what it was', async () => {
    await north.admin.call(workflowImport, { document: document('solo') });
    const started = await confirm(
      'task_start',
      { workflow_id: 'solo', prompt: 'Cancel me.' },
      await propose('task_start', { workflow_id: 'solo', prompt: 'Cancel me.' }),
    );
    const { task_id } = z.object({ result: z.object({ task_id: z.string() }) }).parse(started).result;
    await waitUntil(async () => (await north.admin.call(taskOverview, { task_id })).status === 'running');
    const { actions } = await north.admin.call(taskOverview, { task_id });
    const action = actions.find(({ kind }) => kind === 'cancel');
    const input = { task_id, action_id: action?.id };
    const proposed = await propose('task_control', input);
    expect(proposed).toMatchObject({ changes: [{ before: { status: 'running' }, after: { status: 'cancelled' } }] });
    expect(await confirm('task_control', input, proposed, south)).toMatchObject({ result: { status: 'cancelled' } });
    expect(await confirm('task_control', input, proposed, east)).toMatchObject({
      kind: 'error',
      code: 'already_done',
      receipt: { outcome: 'ok', result: { kind: 'cancel', status: 'cancelled' } },
    });

    const { job_id } = await north.admin.call(jobSubmit, { kind: 'echo', pool: 'nobody' });
    const cancel = await propose('queue_cancel', { job_id });
    expect(cancel.changes).toMatchObject([{ before: { state: 'queued', epoch: 0 }, after: { state: 'cancelled' } }]);
    const requeue = await propose('queue_requeue', { job_id });
    await north.admin.call(queueCancel, { job_id }, { confirm: true });
    expect(codeOf(await confirm('queue_requeue', { job_id }, requeue))).toBe('changed_since_proposal');
    await expect(north.admin.call(queueRequeue, { job_id }, { confirm: true })).rejects.toThrow('not_resumable');
  });

  it('T2 A6.15 confirms at two controllers at once, and one job is there', async () => {
    const input = { kind: 'echo', pool: 'twice' };
    const proposed = await propose('job_submit', input, north);
    const before = (await audited('call:job_submit')).length;
    const answers = await Promise.all([south, east].map((at) => confirm('job_submit', input, proposed, at)));
    expect(answers.map(({ kind }) => kind).sort()).toEqual(['error', 'result']);
    expect(await jobsOf('twice')).toBe(1);
    expect(await audited('call:job_submit')).toHaveLength(before + 1);
  });

  it('A7.10 T14 that drops its socket before the commit has done nothing, and its token is burned', async () => {
    const { job_id } = await north.admin.call(jobSubmit, { kind: 'echo', pool: 'dropped' });
    const proposed = await propose('queue_cancel', { job_id });
    await dropWhileHeld(
      statement('test.hold_row', `select 1 from job where pool = 'dropped' for update`),
      '%from job%for update%',
      ['queue_cancel', { job_id, confirmation_token: proposed.confirmation_token }],
    );
    await waitUntil(async () => (await audited('call:queue_cancel')).includes('cancelled'));
    expect((await north.admin.call(queueList, { state: 'queued' })).jobs.map(({ id }) => id)).toContain(job_id);
    expect(codeOf(await confirm('queue_cancel', { job_id }, proposed))).toBe('confirmation_invalid');
  });

  it('A7.10 T14 that drops its socket once the commit is sent has done it, and its receipt is kept', async () => {
    const input = { kind: 'echo', pool: 'kept' };
    const proposed = await propose('job_submit', input);
    // This one sends its insert and the commit together.
    await dropWhileHeld(statement('test.hold_table', 'lock table job in exclusive mode'), '%insert into job %', [
      'job_submit',
      { ...input, confirmation_token: proposed.confirmation_token },
    ]);
    await waitUntil(async () => (await jobsOf('kept')) === 1);
    expect(codeOf(await confirm('job_submit', input, proposed, south))).toBe('already_done');
    expect(await jobsOf('kept')).toBe(1);
  });

  it('A6.18 A6.11 whose token comes in by the door of a person is refused by name, and the token is burned', async () => {
    const input = { kind: 'echo', pool: 'stolen' };
    const { confirmation_token } = await propose('job_submit', input);
    const answer = await north.fetch('/v1/operations/job_submit', {
      method: 'POST',
      headers: { authorization: `Bearer ${north.admin.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ input, confirm: true, confirmation_token }),
    });
    expect(answer).toMatchObject({
      status: 422,
      body: { code: 'invalid_input', fields: [{ path: '/confirmation_token', rule: 'unknown_field' }] },
    });
    expect(codeOf(await confirm('job_submit', input, { confirmation_token }))).toBe('confirmation_invalid');
    expect(await jobsOf('stolen')).toBe(0);
    expect([...north.logged, ...south.logged, ...east.logged].join('\n')).not.toContain(confirmation_token);
  });
});

async function jobsOf(pool: string): Promise<number> {
  const jobs = statement<{ n: number }>('test.jobs_of', 'select count(*)::int as n from job where pool = $pool');
  return (await owner.first(jobs, { pool }))?.n ?? -1;
}

/** The call stands still in its transaction when its caller goes. */
async function dropWhileHeld(
  hold: Statement<unknown>,
  waits: string,
  [name, input]: readonly [string, object],
): Promise<void> {
  const waiting = statement<{ n: number }>(
    'test.waiting',
    `select count(*)::int as n from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and query like $waits`,
  );
  await owner.transaction(async (tx) => {
    await tx.run(hold);
    const socket = await sendAndKeep(name, input);
    await waitUntil(async () => ((await owner.first(waiting, { waits }))?.n ?? 0) > 0);
    socket.destroy();
    await once(socket, 'close');
    // What reaches the controller after the end of that connection is answered after it has seen it.
    for (let turn = 0; turn < 3; turn += 1) await north.fetch('/healthz');
  });
}

/** Nobody reads the answer. */
async function sendAndKeep(name: string, input: object): Promise<Socket> {
  const { hostname, port } = new URL(north.url);
  const { headers, body } = modern('tools/call', { name, arguments: input });
  const text = JSON.stringify(body);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const all = {
    host: `${hostname}:${port}`,
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    ...headers,
  };
  const lines = Object.entries({
    ...all,
    accept: 'application/json, text/event-stream',
    'content-length': text.length,
  });
  socket.write(`POST /mcp HTTP/1.1\r\n${lines.map(([key, value]) => `${key}: ${value}\r\n`).join('')}\r\n${text}`);
  return socket;
}
