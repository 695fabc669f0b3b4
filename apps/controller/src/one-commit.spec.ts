import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { checkpoint, jobClaim, jobComplete, taskStart, workflowImport } from '#contracts';
import { aController, codeOf, type TestController } from '../../../test/support/a-controller.js';

let farm: TestController;
let owner: pg.Client;
beforeAll(async () => {
  farm = await aController();
  owner = new pg.Client(farm.database.ownerUrl);
  await owner.connect();
  await farm.admin.call(workflowImport, { document: 'kind: workflow\nid: solo\ndescription: One\nlead: {id: lead}\n' });
});
afterAll(async () => {
  await owner.end();
  await farm.close();
});

/** Whatever a completion writes, in one look. */
async function facts(task: string, job: string) {
  const { rows } = await owner.query(
    `select j.state, t.status,
       (select count(*)::int from checkpoint c where c.dispatch = j.id) as checkpoints,
       (select count(*)::int from task_event e where e.task = t.id and e.type = 'boundary_accepted') as ends,
       (select count(*)::int from audit a where a.job_id = j.id and a.kind = 'call:job_complete' and a.outcome = 'ok') as audited
     from job j join task t on t.id = $1 where j.id = $2`,
    [task, job],
  );
  return rows[0];
}

describe('the end of a job', () => {
  it('A12.16 A7.8 is one commit: without its audit row there is no state, no checkpoint and no event, and a repetition does all of it', async () => {
    const worker = await farm.aWorker();
    const { task_id } = await farm.admin.call(taskStart, { workflow_id: 'solo', prompt: 'Do it.' });
    const { jobs } = await worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
    const [lease] = jobs;
    if (!lease) throw new Error('there was nothing to claim');
    const call_id = randomUUID();
    const said = { summary: 'Done', outcome: 'green' };
    await worker.call(checkpoint, said, { jobToken: lease.token, key: call_id });
    const fence = { job_id: lease.id, epoch: lease.epoch, lease_id: lease.lease_id };
    const end = { ...fence, ended: 'handover', result: { handover: { call_id } } };

    await owner.query('revoke insert on audit from longshore_app');
    expect(codeOf(await worker.ask(jobComplete.name, end))).toBe('internal');
    expect(await facts(task_id, lease.id)).toEqual({
      state: 'leased',
      status: 'running',
      checkpoints: 0,
      ends: 0,
      audited: 0,
    });

    await owner.query('grant insert on audit to longshore_app');
    expect(await worker.call(jobComplete, end)).toEqual({ state: 'done', kept: true });
    expect(await facts(task_id, lease.id)).toEqual({
      state: 'done',
      status: 'completed',
      checkpoints: 1,
      ends: 1,
      audited: 1,
    });
  });
});
