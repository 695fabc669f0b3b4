import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { auditList, auditVerify, jobSubmit, queueCancel, status, workerList } from '#contracts';
import { openDatabase, statement } from '#store';
import { aController, codeOf, type TestController } from '../../../../../test/support/a-controller.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';

let one: TestController;
let controllers: readonly TestController[];

beforeAll(async () => {
  one = await aController();
  const { database, data } = one;
  controllers = [one, await aController({ database, data }), await aController({ database, data })];
});
afterAll(async () => {
  await Promise.all(controllers.map((controller) => controller.close()));
});

const admins = () => controllers.map((controller) => controller.admin);
const list = async (filter: object = {}) => await one.admin.call(auditList, filter);
const verify = async () => await one.admin.call(auditVerify, {});

async function allSealed(): Promise<void> {
  await waitUntil(async () => (await verify()).waiting === 0);
}

/** Calls of many kinds, at all controllers at once. */
async function load(): Promise<void> {
  const workers = await Promise.all(controllers.map((controller) => controller.aWorker()));
  const people = admins().flatMap((admin) => Array.from({ length: 20 }, () => admin));
  await Promise.all([
    ...people.map(async (admin) => {
      const { job_id } = await admin.call(jobSubmit, { kind: 'dispatch', payload: {} }).catch(() => ({ job_id: null }));
      if (job_id !== null) await admin.ask(queueCancel.name, { job_id }, { confirm: true });
      await admin.ask('quota_set', { name: 'global', max: 5 });
      await admin.call(status, {});
    }),
    ...workers.map((worker) =>
      worker.ask('job_claim', {
        request_id: '00000000-0000-4000-8000-000000000001',
        limit: 1,
        wait_seconds: 0,
        frozen: [],
      }),
    ),
  ]);
}

describe('the audit of a farm', () => {
  it('H43 is sealed by three controllers at load, and any of them finds it whole', async () => {
    await load();
    await allSealed();
    const found = await Promise.all(admins().map((admin) => admin.call(auditVerify, {})));
    const { entries } = await list({ limit: 100 });
    expect(entries.length).toBeGreaterThan(60);
    expect(entries.every(({ sealed }) => sealed)).toBe(true);
    for (const { intact, faults } of found) expect([intact, faults]).toEqual([true, []]);
  });

  it('says who called what, by which door and how it ended, to admins, page by page', async () => {
    await one.admin.ask('quota_set', { name: 'global', max: 7 });
    await one.admin.ask('queue_cancel', { job_id: '00000000-0000-4000-8000-000000000009' }, { confirm: true });
    const page = await list({ person: one.admin.id, limit: 2 });
    expect(page.entries).toMatchObject([
      { operation: 'queue_cancel', door: 'cli', class: 'user', actor: one.admin.id, outcome: 'error:not_found' },
      { operation: 'quota_set', agent_id: null, outcome: 'ok', calls: 1 },
    ]);
    expect(page.entries[0]?.input_hash).toMatch(/^[\w-]{43}$/);
    const next = await list({ person: one.admin.id, limit: 2, cursor: page.next_cursor });
    expect(next.entries.every(({ seq }) => seq < (page.entries[1]?.seq ?? 0))).toBe(true);
    const machines = await list({ by_door: 'node', operation: 'job_claim' });
    const { workers } = await one.admin.call(workerList, {});
    expect(workers.map(({ worker_id }) => worker_id)).toContain(machines.entries[0]?.agent_id);
  });

  it('is a matter of admins', async () => {
    const worker = await one.aWorker();
    for (const { name } of [auditList, auditVerify]) {
      expect(codeOf(await worker.ask(name, {}))).toBe('not_available');
    }
    expect(codeOf(await one.admin.ask('audit_list', { since: 'SECRET' }))).toBe('invalid_input');
  });

  it('H43 names the row that the owner of the database changed', async () => {
    await allSealed();
    const owner = openDatabase({ url: one.database.ownerUrl, max: 1 });
    const [entry] = (await list({ limit: 1 })).entries;
    await owner.run(statement('test.forge', `update audit set outcome = 'forged' where seq = $seq`), {
      seq: entry?.seq,
    });
    await owner.close();
    expect(await verify()).toMatchObject({ intact: false, faults: [{ kind: 'altered', seq: entry?.seq }] });
  });
});
