import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { headers, jobClaim, jobComplete, jobSubmit, queueList, taskStart, workflowImport } from '#contracts';
import { type Database, openDatabase, statement, type Transaction } from '#store';
import { aController, type TestController } from '../../../../../test/support/a-controller.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';

let farm: TestController;
let owner: Database;
beforeAll(async () => {
  farm = await aController();
  owner = openDatabase({ url: farm.database.ownerUrl, max: 2 });
  await farm.admin.call(workflowImport, { document: 'kind: workflow\nid: solo\ndescription: One\nlead: {id: lead}\n' });
});
afterAll(async () => {
  await farm.close();
  await owner.close();
});

const aPool = () => `pool-${randomUUID().slice(0, 8)}`;

/** Sends a call by hand, whole or only the first half of its body; nobody reads the answer. */
async function sendAndKeep(name: string, input: unknown, key: string, token: string, half = false): Promise<Socket> {
  const { hostname, port } = new URL(farm.url);
  const body = JSON.stringify({ input });
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const lines = [
    `POST /v1/operations/${name} HTTP/1.1`,
    `host: ${hostname}`,
    `authorization: Bearer ${token}`,
    `${headers.idempotencyKey}: ${key}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n${half ? body.slice(0, body.length / 2) : body}`);
  return socket;
}

async function jobsOf(pool: string): Promise<readonly string[]> {
  const rows = await owner.all(statement<{ id: string }>('test.jobs_of', 'select id from job where pool = $pool'), {
    pool,
  });
  return rows.map(({ id }) => id);
}

async function waiting(query: string): Promise<boolean> {
  const row = await owner.first(
    statement<{ n: number }>(
      'test.waiting',
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query like $query`,
    ),
    { query },
  );
  return (row?.n ?? 0) > 0;
}

/** Holds a table so that a call stands still in the middle of its transaction. */
async function whileHeld(table: string, work: () => Promise<void>): Promise<void> {
  await owner.transaction(async (tx: Transaction) => {
    await tx.run(statement(`test.hold_${table}`, `lock table ${table} in exclusive mode`));
    await work();
  });
}

describe('a caller that drops its socket', () => {
  it('T14 before the commit has its call done once, however often it asks again under its key', async () => {
    const [pool, key] = [aPool(), randomUUID()];
    const input = { kind: 'echo', pool };
    await whileHeld('job', async () => {
      const socket = await sendAndKeep('job_submit', input, key, farm.admin.token);
      await waitUntil(() => waiting('%insert into job %'));
      socket.destroy();
      await once(socket, 'close');
    });
    const again = await Promise.all([1, 2, 3].map(() => farm.admin.call(jobSubmit, input, { key })));
    expect(new Set(again.map(({ job_id }) => job_id)).size).toBe(1);
    expect(await jobsOf(pool)).toEqual([again[0]?.job_id]);
  });

  it('T14 after the commit, before the answer, is answered what it was answered', async () => {
    const [pool, key] = [aPool(), randomUUID()];
    const input = { kind: 'echo', pool };
    const socket = await sendAndKeep('job_submit', input, key, farm.admin.token);
    await waitUntil(async () => (await jobsOf(pool)).length > 0);
    socket.destroy();
    const [made] = await jobsOf(pool);
    expect(await farm.admin.call(jobSubmit, input, { key })).toEqual({ job_id: made });
    expect(await jobsOf(pool)).toEqual([made]);
  });

  it('T14 in the middle of its body has done nothing, and then once', async () => {
    const [pool, key] = [aPool(), randomUUID()];
    const input = { kind: 'echo', pool };
    const socket = await sendAndKeep('job_submit', input, key, farm.admin.token, true);
    socket.destroy();
    await once(socket, 'close');
    const { job_id } = await farm.admin.call(jobSubmit, input, { key });
    expect(await jobsOf(pool)).toEqual([job_id]);
  });

  it('T14 starts one Task, whose key says which', async () => {
    const [pool, key] = [aPool(), randomUUID()];
    const input = { workflow_id: 'solo', title: pool, prompt: 'Do it.', pool };
    await whileHeld('task', async () => {
      const socket = await sendAndKeep('task_start', input, key, farm.admin.token);
      await waitUntil(() => waiting('%insert into task%'));
      socket.destroy();
      await once(socket, 'close');
    });
    const { task_id } = await farm.admin.call(taskStart, input, { key });
    const tasks = await owner.all(statement<{ id: string }>('test.tasks', `select id from task where title = $title`), {
      title: pool,
    });
    expect(tasks).toEqual([{ id: task_id }]);
  });

  it('T14 A12.9 ends its lease once, and hears the same when it asks again', async () => {
    const pool = aPool();
    const worker = await farm.aWorker({ pool });
    await farm.admin.call(jobSubmit, { kind: 'echo', pool });
    const { jobs } = await worker.call(jobClaim, { request_id: randomUUID() });
    const [lease] = jobs;
    if (!lease) throw new Error('there was nothing to claim');
    const end = { job_id: lease.id, epoch: lease.epoch, lease_id: lease.lease_id, ended: 'done', result: { n: 1 } };
    await whileHeld('lease', async () => {
      const socket = await sendAndKeep('job_complete', end, randomUUID(), worker.token);
      await waitUntil(() => waiting('%update lease%'));
      socket.destroy();
      await once(socket, 'close');
    });
    expect(await worker.call(jobComplete, end)).toEqual({ state: 'done', kept: true });
    expect(await worker.call(jobComplete, end)).toEqual({ state: 'done', kept: true });
    const [job] = (await farm.admin.call(queueList, { worker_id: worker.id })).jobs;
    expect(job).toMatchObject({ state: 'done', epoch: 1, tries: 0 });
  });
});
