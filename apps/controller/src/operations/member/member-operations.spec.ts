import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  checkpoint,
  getCurrentContext,
  type InputOf,
  jobClaim,
  jobComplete,
  type LeasedJob,
  setWorkPlan,
  taskOverview,
  taskStart,
  workflowImport,
} from '#contracts';
import { aController, codeOf, type TestController, type TestWorker } from '../../../../../test/support/a-controller.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
  await farm.admin.call(workflowImport, { document: 'kind: workflow\nid: solo\ndescription: One\nlead: {id: lead}\n' });
});
afterAll(() => farm.close());

/** A Task in a pool of its own, and the machine that holds its Dispatch. */
async function held(): Promise<{ task_id: string; worker: TestWorker; lease: LeasedJob; jobToken: string }> {
  const pool = `pool-${randomUUID().slice(0, 8)}`;
  const worker = await farm.aWorker({ pool });
  const { task_id } = await farm.admin.call(taskStart, { workflow_id: 'solo', prompt: 'Do it.', pool });
  const { jobs } = await worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
  const [lease] = jobs;
  if (!lease) throw new Error('there was nothing to claim');
  return { task_id, worker, lease, jobToken: lease.token };
}

const complete = (
  worker: TestWorker,
  { id, epoch, lease_id }: LeasedJob,
  end: Pick<InputOf<typeof jobComplete>, 'ended' | 'result'>,
) => worker.call(jobComplete, { job_id: id, epoch, lease_id, ...end });

describe('the calls of a member', () => {
  it('Q1 D2 H1 are answered again under their key, and the Task ends by the call that its machine names', async () => {
    const { task_id, worker, lease, jobToken } = await held();
    const [progress, handover] = [randomUUID(), randomUUID()];
    const steps = [{ step: 'Look', status: 'in_progress' }];
    await worker.call(setWorkPlan, { steps }, { jobToken, key: randomUUID() });
    expect((await worker.call(getCurrentContext, {}, { jobToken, key: randomUUID() })).work_plan).toEqual({ steps });
    const half = { summary: 'Half way' };
    const first = await worker.call(checkpoint, half, { jobToken, key: progress });
    expect(await worker.call(checkpoint, half, { jobToken, key: progress })).toEqual(first);

    const done = { summary: 'Done', outcome: 'green' };
    const said = await worker.call(checkpoint, done, { jobToken, key: handover });
    expect(said).toMatchObject({ terminal: true, must_stop: true });
    expect(await worker.call(checkpoint, done, { jobToken, key: handover })).toEqual(said);
    expect(await worker.call(checkpoint, done, { jobToken, key: randomUUID() })).toEqual(said);
    const plan = await worker.ask(setWorkPlan.name, { steps: [] }, { jobToken, key: randomUUID() });
    expect(codeOf(plan)).toBe('stale_dispatch');
    expect((await farm.admin.call(taskOverview, { task_id })).status).toBe('running');

    const end = { ended: 'handover' as const, result: { handover: { call_id: handover } } };
    expect(await complete(worker, lease, end)).toEqual({ state: 'done', kept: true });
    expect(await farm.admin.call(taskOverview, { task_id })).toMatchObject({
      status: 'completed',
      result: { outcome: 'green', summary: 'Done' },
    });
  });

  it('D17 H24 need both tokens, of the machine that holds the lease, and a key', async () => {
    const { worker, jobToken } = await held();
    const other = await farm.aWorker();
    const key = randomUUID();
    const read = (by: TestWorker, options: object) => by.ask(getCurrentContext.name, {}, options);
    expect((await read(worker, { jobToken, key })).status).toBe(200);
    expect(codeOf(await read(other, { jobToken, key }))).toBe('stale_lease');
    expect(codeOf(await read(worker, { key }))).toMatch(/stale_lease|not_available|unauthenticated/);
    expect(codeOf(await read(worker, { jobToken }))).toBe('idempotency_key_invalid');
  });

  it('D13 are nobody’s after the end: what was handed over can not be said anew, by this machine or another', async () => {
    const { worker, lease, jobToken } = await held();
    const key = randomUUID();
    await worker.call(checkpoint, { summary: 'Done', outcome: 'blocked' }, { jobToken, key });
    const end = { ended: 'handover' as const, result: { handover: { call_id: key } } };
    const answer = await complete(worker, lease, end);
    expect(await complete(worker, lease, end)).toEqual(answer);
    await expect(complete(worker, lease, { ended: 'silent', result: {} })).rejects.toThrow('conflict');
    await expect(complete(await farm.aWorker(), lease, end)).rejects.toThrow('stale_lease');
    expect(codeOf(await worker.ask(getCurrentContext.name, {}, { jobToken, key: randomUUID() }))).toBe('stale_lease');
  });
});
