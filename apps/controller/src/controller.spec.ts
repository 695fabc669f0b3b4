import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jobClaim, jobComplete, jobSubmit } from '#contracts';
import { aController, type TestController } from '../../../test/support/a-controller.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
});
afterAll(() => farm.close());

describe('a plain job over HTTP', () => {
  it('is submitted by a person, claimed by an enrolled worker and completed once', async () => {
    const worker = await farm.aWorker();
    const { job_id } = await farm.admin.call(jobSubmit, { kind: 'echo', payload: { word: 'hello' } });
    const { jobs } = await worker.call(jobClaim, { request_id: randomUUID() });
    expect(jobs).toMatchObject([{ id: job_id, kind: 'echo', epoch: 1, payload: { word: 'hello' } }]);
    const [job] = jobs;
    const end = { job_id, epoch: job?.epoch, lease_id: job?.lease_id, ended: 'done', result: { word: 'olleh' } };
    expect(await worker.call(jobComplete, end)).toMatchObject({ state: 'done' });
    expect(await worker.call(jobComplete, end)).toMatchObject({ state: 'done' });
    expect((await worker.call(jobClaim, { request_id: randomUUID() })).jobs).toEqual([]);
  });
});
