import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkpoint, jobClaim, jobComplete, taskEvents, taskOverview, taskStart, workflowImport } from '#contracts';
import { type Database, openDatabase, statement } from '#store';
import { aController, type TestController } from '../../../../test/support/a-controller.js';
import { aNats } from '../../../../test/support/nats.js';

let farm: TestController;
let owner: Database;
beforeAll(async () => {
  const nats = await aNats();
  farm = await aController({ nats: { url: nats.url, accountSeed: nats.accountSeed, creds: nats.controllerCreds } });
  owner = openDatabase({ url: farm.database.ownerUrl, max: 1 });
  // Gone for good: from here on nobody is rung.
  await nats.stop();
  await farm.admin.call(workflowImport, { document: 'kind: workflow\nid: solo\ndescription: One\nlead: {id: lead}\n' });
});
afterAll(async () => {
  await farm.close();
  await owner.close();
});

/** Inserts into a table fail for rows like these, as if the controller had died there. */
async function breakInserts(table: 'audit' | 'task_event', condition: string): Promise<() => Promise<void>> {
  const name = `break_${randomUUID().replaceAll('-', '')}`;
  const run = (text: string) => owner.run(statement('', text));
  await run(`create function ${name}() returns trigger language plpgsql as $$ begin
    if ${condition} then raise exception 'broken off'; end if; return new; end $$`);
  await run(`create trigger ${name} before insert on ${table} for each row execute function ${name}()`);
  return async () => {
    await run(`drop function ${name} cascade`);
  };
}

const count = async (text: string): Promise<number> =>
  (await owner.first(statement<{ n: number }>('', `select count(*)::int as n from ${text}`)))?.n ?? 0;

async function atWork() {
  const pool = `pool-${randomUUID().slice(0, 8)}`;
  const worker = await farm.aWorker({ pool });
  const { task_id } = await farm.admin.call(taskStart, { workflow_id: 'solo', prompt: 'Do it.', pool });
  const { jobs } = await worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
  if (!jobs[0]) throw new Error('there was nothing to claim');
  const { id: job_id, epoch, lease_id, token: jobToken } = jobs[0];
  return { task_id, worker, fence: { job_id, epoch, lease_id }, jobToken };
}

describe('what a call changes, its events and its audit', () => {
  it('A12.16 commit together: without the audit row nothing was done, and the same call does it later', async () => {
    const [title, key] = [randomUUID(), randomUUID()];
    const input = { workflow_id: 'solo', prompt: 'Do it.', title, pool: 'nobodys' };
    const mend = await breakInserts('audit', `new.kind = 'call:task_start' and new.outcome = 'ok'`);
    expect((await farm.admin.ask(taskStart.name, input, { key })).status).toBe(500);
    expect(await count(`task where title = '${title}'`)).toBe(0);
    expect(await count(`receipt where key = '${key}'`)).toBe(0);
    await mend();
    await farm.admin.call(taskStart, input, { key });
    expect(await count(`task where title = '${title}'`)).toBe(1);
  });

  it('A12.16 commit together: without its event a Task is not at its end, nor its lease', async () => {
    const { task_id, worker, fence, jobToken } = await atWork();
    const key = randomUUID();
    await worker.call(checkpoint, { summary: 'Done', outcome: 'green' }, { jobToken, key });
    const end = { ...fence, ended: 'handover', result: { handover: { call_id: key } } };
    const mend = await breakInserts('task_event', `new.task = '${task_id}' and new.type = 'boundary_accepted'`);
    expect((await worker.ask(jobComplete.name, end)).status).toBe(500);
    expect(await farm.admin.call(taskOverview, { task_id })).toMatchObject({ status: 'running' });
    expect(await count(`job where id = '${fence.job_id}' and state = 'leased'`)).toBe(1);
    expect(
      await count(`audit where job_id = '${fence.job_id}' and kind = 'call:job_complete' and outcome = 'ok'`),
    ).toBe(0);
    await mend();
    expect(await worker.call(jobComplete, end)).toEqual({ state: 'done', kept: true });
    expect(await worker.call(jobComplete, end)).toEqual({ state: 'done', kept: true });
    expect(await farm.admin.call(taskOverview, { task_id })).toMatchObject({ status: 'completed' });
    const { events } = await farm.admin.call(taskEvents, { task_id, limit: 500 });
    expect(events.filter(({ type }) => type === 'boundary_accepted')).toHaveLength(1);
    // with NATS gone, none is missing
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });
});
