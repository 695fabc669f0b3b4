import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { jobClaim, jobComplete, jobFail, jobHeartbeat, jobSubmit, queueList, workerList } from '#contracts';
import { type Database, openDatabase, type Queries, statement, type Transaction } from '#store';
import { aController, codeOf, type TestController, type TestWorker } from '../../../../../test/support/a-controller.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';

let farm: TestController;
let owner: Database;
beforeAll(async () => {
  farm = await aController();
  owner = openDatabase({ url: farm.database.ownerUrl, max: 1 });
});
afterAll(async () => {
  await farm.close();
  await owner.close();
});

interface AuditRow {
  readonly kind: string;
  readonly outcome: string;
  readonly calls: number;
  readonly door: string;
  readonly agent_id: string;
}
const auditOf = (job: string) =>
  owner.all(statement<AuditRow>('test.audit_of', 'select * from audit where job_id = $job order by seq'), { job });

const lockMachine = statement<unknown>(
  'test.lock_machine',
  'select pg_advisory_xact_lock(hashtextextended($worker, 0))',
);
const nextSettings = statement<unknown>(
  'test.next_settings',
  'update farm set settings_version = settings_version + 1',
);

/** A pool of its own, so that one test's jobs are no other's. */
async function aPool(invitation: object = {}) {
  const pool = `p${randomUUID().slice(0, 8)}`;
  const worker = await farm.aWorker({ pool, ...invitation });
  const submit = (more: object = {}) => farm.admin.call(jobSubmit, { kind: 'echo', pool, ...more });
  return { pool, worker, submit };
}

const claim = (worker: TestWorker, more: object = {}) => worker.call(jobClaim, { request_id: randomUUID(), ...more });

async function claimOne(worker: TestWorker) {
  const { jobs } = await claim(worker);
  if (!jobs[0]) throw new Error('there was no job');
  const { id, epoch, lease_id } = jobs[0];
  return { job_id: id, epoch, lease_id };
}

const report = { slots: 4, busy: 0, labels: [] };

describe('the job protocol in the audit', () => {
  it('A12.18 has one row per call, without any proposal', async () => {
    const { worker, submit } = await aPool();
    await submit();
    const lease = await claimOne(worker);
    await worker.call(jobComplete, { ...lease, ended: 'done', result: {} });
    expect(await auditOf(lease.job_id)).toMatchObject([
      { kind: 'call:job_claim', outcome: 'ok', door: 'node', agent_id: worker.id },
      { kind: 'call:job_complete', outcome: 'ok', door: 'node', agent_id: worker.id },
    ]);
  });

  it('A7.7 has late writes too, with the code that refused them', async () => {
    const { worker, submit } = await aPool();
    await submit();
    const lease = await claimOne(worker);
    await worker.call(jobComplete, { ...lease, ended: 'done', result: {} });
    expect(codeOf(await worker.ask('job_complete', { ...lease, epoch: 2, ended: 'done', result: {} }))).toBe(
      'stale_lease',
    );
    expect((await auditOf(lease.job_id)).at(-1)).toMatchObject({
      kind: 'call:job_complete',
      outcome: 'error:stale_lease',
    });
  });

  it('A7.9 has of a hundred beats the first and, with their number, the last', async () => {
    const { worker, submit } = await aPool();
    await submit();
    const lease = await claimOne(worker);
    for (let n = 0; n < 100; n += 1)
      await worker.call(jobHeartbeat, { worker: report, leases: [{ ...lease, phase: 'started', idle_ms: 0 }] });
    await worker.call(jobComplete, { ...lease, ended: 'done', result: {} });
    const beats = (await auditOf(lease.job_id)).filter(({ kind }) => kind === 'call:job_heartbeat');
    expect(beats.map(({ calls }) => calls)).toEqual([1, 100]);
  });
});

describe('a claim that waits', () => {
  it('H18 is answered as soon as there is work, without NATS', async () => {
    const { worker, submit } = await aPool();
    const waiting = claim(worker, { wait_seconds: 20 });
    await waitUntil(() => farm.controller.services.claims.size > 0);
    const { job_id } = await submit();
    expect((await waiting).jobs.map(({ id }) => id)).toEqual([job_id]);
  });

  it('D14 is woken for a job that fits it: one job, one of those that wait', async () => {
    const { pool, worker, submit } = await aPool({ labels: ['gpu'] });
    const other = await farm.aWorker({ pool, labels: ['os:linux'] });
    const claims = [claim(other, { wait_seconds: 2 }), claim(worker, { wait_seconds: 20 })];
    await waitUntil(() => farm.controller.services.claims.size === 2);
    const { job_id } = await submit({ labels: ['gpu'] });
    expect((await claims[1])?.jobs.map(({ id }) => id)).toEqual([job_id]);
    expect((await claims[0])?.jobs).toEqual([]);
  });

  /** Submits in a transaction of its own; `last` is done in it after the job was offered. */
  const submitThen = async (pool: string, last: (tx: Transaction) => Promise<unknown>) => {
    const id = randomUUID();
    const { database, queue } = farm.controller.services;
    const committed = database.transaction(async (tx) => {
      await queue.submit(tx, { id, kind: 'echo', pool });
      tx.beforeCommit(async () => void (await last(tx)));
    });
    return { id, committed };
  };
  const stateIn = async (queries: Queries, id: string) =>
    (await farm.controller.services.queue.find(queries, id))?.state;

  it('A12.16 A12.18 has its lease with the commit that makes the job, and its one audit row', async () => {
    const { pool, worker } = await aPool();
    const waiting = claim(worker, { wait_seconds: 20 });
    await waitUntil(() => farm.controller.services.claims.size > 0);
    const seen: unknown[] = [];
    const { id, committed } = await submitThen(pool, async (tx) => seen.push(await stateIn(tx, id)));
    await committed;
    expect(seen).toEqual(['leased']);
    expect((await waiting).jobs).toMatchObject([{ id, epoch: 1 }]);
    expect(await auditOf(id)).toMatchObject([
      { kind: 'call:job_claim', outcome: 'ok', door: 'node', agent_id: worker.id },
    ]);
  });

  it('goes on, and gets the next job, when the transaction that offered it one fails', async () => {
    const { pool, worker, submit } = await aPool();
    const waiting = claim(worker, { wait_seconds: 20 });
    await waitUntil(() => farm.controller.services.claims.size > 0);
    const { id, committed } = await submitThen(pool, () => Promise.reject(new Error('no commit')));
    await expect(committed).rejects.toThrow('no commit');
    const { job_id } = await submit();
    expect((await waiting).jobs).toMatchObject([{ id: job_id, epoch: 1 }]);
    expect(await auditOf(id)).toEqual([]);
    expect(await auditOf(job_id)).toHaveLength(1);
  });

  it('H12 keeps nobody from submitting while another claim of its machine is on its way, and gets the job after it', async () => {
    const { pool, worker } = await aPool();
    const waiting = claim(worker, { wait_seconds: 20 });
    await waitUntil(() => farm.controller.services.claims.size > 0);
    const { id, committed } = await farm.controller.services.database.transaction(async (tx) => {
      await tx.run(lockMachine, { worker: worker.id });
      const submitted = await submitThen(pool, async () => {});
      await submitted.committed;
      return submitted;
    });
    await committed;
    expect((await waiting).jobs).toMatchObject([{ id }]);
  });

  const failToMint = () => {
    const { identity } = farm.controller.services;
    jest.spyOn(identity, 'mintJobToken').mockImplementationOnce(() => {
      throw new Error('no key');
    });
  };
  it.each([
    ['it was let through by what has changed since', () => owner.run(nextSettings)],
    ['it fails, which is no failure of who submits', failToMint],
  ])('A4.10 H13 leaves the job alone where %s, and looks again after the commit', async (_, change) => {
    const { pool, worker } = await aPool();
    const waiting = claim(worker, { wait_seconds: 20 });
    await waitUntil(() => farm.controller.services.claims.size > 0);
    await change();
    const seen: unknown[] = [];
    const { id, committed } = await submitThen(pool, async (tx) => seen.push(await stateIn(tx, id)));
    await committed;
    expect(seen).toEqual(['queued']);
    expect((await waiting).jobs).toMatchObject([{ id, epoch: 1 }]);
    expect(await auditOf(id)).toHaveLength(1);
  });

  it('ends with its time, and with its caller', async () => {
    const { worker } = await aPool();
    expect((await claim(worker, { wait_seconds: 0.05 })).jobs).toEqual([]);
    const gone = new AbortController();
    const leaving = fetch(`${farm.url}/v1/operations/job_claim`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${worker.token}` },
      body: JSON.stringify({ input: { request_id: randomUUID(), wait_seconds: 20 } }),
      signal: gone.signal,
    });
    await waitUntil(() => farm.controller.services.claims.size === 1);
    gone.abort();
    await expect(leaving).rejects.toThrow();
    await waitUntil(() => farm.controller.services.claims.size === 0);
  });
});

describe('what a worker is given', () => {
  it('H26 is for the labels of its enrolment: one that announces host:payroll sees an empty queue', async () => {
    const { worker, submit } = await aPool();
    await submit({ labels: ['host:payroll'] });
    await worker.call(jobHeartbeat, { worker: { ...report, labels: ['host:payroll'] } });
    expect((await claim(worker)).jobs).toEqual([]);
  });

  it('is at most its slots at once', async () => {
    const { worker, submit } = await aPool({ slots: 2 });
    for (let n = 0; n < 4; n += 1) await submit();
    expect((await claim(worker, { limit: 16 })).jobs).toHaveLength(2);
  });

  it('is nothing new while it is paused or drains; what it has goes on', async () => {
    const { worker, submit } = await aPool();
    await submit();
    await submit();
    const lease = await claimOne(worker);
    await farm.admin.ask('worker_drain', { worker_id: worker.id });
    expect((await claim(worker)).jobs).toEqual([]);
    const beat = { worker: report, leases: [{ ...lease, phase: 'started', idle_ms: 0 }] };
    expect(await worker.call(jobHeartbeat, beat)).toMatchObject({ worker: { drain: true }, leases: [{ held: true }] });
    await expect(worker.call(jobComplete, { ...lease, ended: 'done', result: {} })).resolves.toBeDefined();
    await farm.admin.ask('worker_resume', { worker_id: worker.id });
    expect((await claim(worker)).jobs).toHaveLength(1);
  });

  it.each(['worker_pause', 'worker_drain'])('D11 is its frozen job and no other after %s', async (ruled) => {
    const { worker, submit } = await aPool();
    await submit();
    const { job_id, epoch, lease_id } = await claimOne(worker);
    const beat = { worker: report, leases: [{ job_id, epoch, lease_id, phase: 'started', idle_ms: 0 }] };
    await worker.call(jobHeartbeat, beat);
    await submit();
    await farm.admin.ask(ruled, { worker_id: worker.id });
    await owner.run(statement('test.pass', `update farm_clock set farm_at = farm_at + interval '31 s'`));
    const { jobs } = await claim(worker, { limit: 4, frozen: [{ job_id, lease_id }] });
    expect(jobs).toMatchObject([{ id: job_id, epoch: 2, continues: true }]);
  });
});

describe('a machine at fault', () => {
  it('H11 is in quarantine after three jobs that it could not run, and the jobs go on elsewhere', async () => {
    const { pool, worker, submit } = await aPool();
    for (let n = 0; n < 4; n += 1) await submit();
    for (let n = 0; n < 3; n += 1) {
      const lease = await claimOne(worker);
      const failed = { ...lease, reason: 'environment', retryable: true, detail: 'the disk is full' };
      expect(await worker.call(jobFail, failed)).toMatchObject({ state: 'queued' });
    }
    expect((await claim(worker)).jobs).toEqual([]);
    const { workers } = await farm.admin.call(workerList, {});
    expect(workers.find(({ worker_id }) => worker_id === worker.id)).toMatchObject({
      state: 'quarantined',
      note: 'the disk is full',
    });
    expect((await worker.call(jobHeartbeat, { worker: report })).worker).toMatchObject({
      quarantined: 'the disk is full',
    });
    const good = await farm.aWorker({ pool });
    for (let n = 0; n < 4; n += 1)
      await good.call(jobComplete, { ...(await claimOne(good)), ended: 'done', result: {} });
    const { jobs } = await farm.admin.call(queueList, { worker_id: good.id });
    expect(jobs.every(({ tries }) => tries === 0)).toBe(true);
  });
});
