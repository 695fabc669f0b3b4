import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { jobClaim, jobComplete, jobSubmit, limits, queueList, workerList } from '#contracts';
import {
  type Answer,
  aController,
  post,
  type TestController,
  type TestWorker,
} from '../../../../../test/support/a-controller.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
});
afterAll(() => farm.close());

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Each error of the door is a problem, and quotes nobody. */
function expectProblem(answer: Answer, status: number, code: string): void {
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    status,
    'application/problem+json; charset=utf-8',
  ]);
  expect(answer.body).toMatchObject({ status, code, title: expect.any(String), type: `/problems/${code}` });
  expect(answer.text).not.toContain('SECRET');
}

async function aLeasedJob(worker: TestWorker, kind = `kind_${randomUUID().slice(0, 8)}`) {
  const { job_id } = await farm.admin.call(jobSubmit, { kind });
  for (let n = 0; n < 50; n += 1) {
    const { jobs } = await worker.call(jobClaim, { request_id: randomUUID() });
    const job = jobs.find(({ id }) => id === job_id);
    if (job) return job;
  }
  throw new Error('the job was not to be had');
}

describe('errors of the door', () => {
  it('H24 answers a body that is not JSON, and quotes it nowhere', async () => {
    const worker = await farm.aWorker();
    for (const body of ['{"SECRET": ', 'SECRET', '', '\u0000'])
      expectProblem(
        await farm.fetch('/v1/operations/job_claim', post(body, bearer(worker.token))),
        422,
        'invalid_input',
      );
    const xml = {
      method: 'POST',
      headers: { 'content-type': 'application/xml', ...bearer(worker.token) },
      body: '<SECRET/>',
    };
    expectProblem(await farm.fetch('/v1/operations/job_claim', xml), 422, 'invalid_input');
    expect(farm.logged.join('\n')).not.toContain('SECRET');
  });

  it('looks at who calls before it reads a body', async () => {
    expectProblem(await farm.fetch('/v1/operations/job_claim', post('not even JSON', {})), 401, 'unauthenticated');
  });

  it('A5.7 A5.10 names fields and rules of a bad input, and no value in answer or log', async () => {
    const answer = await farm.admin.ask('job_submit', { kind: 'SECRET', priority: 999, SECRET: 'SECRET' });
    expectProblem(answer, 422, 'invalid_input');
    expect(answer.body).toMatchObject({
      fields: expect.arrayContaining([
        { path: '/kind', rule: 'format:regex' },
        { path: '/priority', rule: 'max:100' },
        { path: '', rule: 'unknown_field', count: 1 },
      ]),
    });
    expect(farm.logged.join('\n')).not.toContain('SECRET');
  });

  it('A1.3 takes no door, actor or token out of a body', async () => {
    const body = { input: { kind: 'echo' }, door: 'internal', actor: 'SECRET' };
    const answer = await farm.fetch('/v1/operations/job_submit', post(body, bearer(farm.admin.token)));
    expectProblem(answer, 422, 'invalid_input');
    expect(answer.body).toMatchObject({ fields: [{ path: '', rule: 'unknown_field', count: 2 }] });
  });

  it('answers paths that are none, methods that are none and paths that can not be read with a problem', async () => {
    expectProblem(await farm.fetch('/SECRET'), 404, 'not_available');
    expectProblem(await farm.fetch('/v1/operations/status', { method: 'DELETE' }), 404, 'not_available');
    expectProblem(await farm.fetch('/v1/operations/%SECRET'), 404, 'not_available');
    expectProblem(await farm.admin.ask('SECRET_thing', {}), 404, 'not_available');
  });

  it('refuses a body over the limit by its size', async () => {
    const huge = { kind: 'echo', payload: 'x'.repeat(limits.bodyBytes) };
    expectProblem(await farm.admin.ask('job_submit', huge), 413, 'too_large');
  });

  it('H13 refuses what PostgreSQL can not hold, by name, and the good calls beside it go through', async () => {
    const worker = await farm.aWorker({ slots: 16 });
    const jobs = [];
    for (let n = 0; n < 11; n += 1) jobs.push(await aLeasedJob(worker));
    const answers = await Promise.all(
      jobs.map(({ id, epoch, lease_id }, n) =>
        worker.ask('job_complete', {
          job_id: id,
          epoch,
          lease_id,
          ended: 'done',
          result: n === 5 ? 'nul \u0000' : 'good',
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([...Array(5).fill(200), 422, ...Array(5).fill(200)]);
    expect(answers[5]?.body).toMatchObject({
      fields: [{ path: '/result', rule: 'storable_json' }],
    });
    const lone = await worker.ask('job_claim', {
      request_id: randomUUID(),
      frozen: [{ job_id: '\ud800', lease_id: 'x' }],
    });
    expectProblem(lone, 422, 'invalid_input');
  });
});

describe('who calls', () => {
  it('is nobody without a token that is good for this door', async () => {
    const worker = await farm.aWorker();
    const job = await aLeasedJob(worker);
    for (const authorization of ['', 'Bearer', 'Bearer SECRET', `Basic ${farm.admin.token}`, `Bearer ${job.token}`]) {
      const answer = await farm.fetch('/v1/operations/status', post({ input: {} }, { authorization }));
      expectProblem(answer, 401, 'unauthenticated');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  it('H24 is a worker at the node door, which has two catalogues and nothing else', async () => {
    const worker = await farm.aWorker();
    for (const name of ['exposure_set', 'worker_invite', 'queue_list', 'task_start', 'checkpoint'])
      expectProblem(await worker.ask(name, { SECRET: 1 }), 404, 'not_available');
    expectProblem(await farm.fetch('/v1/operations', { headers: bearer(worker.token) }), 401, 'unauthenticated');
    expectProblem(await farm.fetch('/v1/openapi.json', { headers: bearer(worker.token) }), 401, 'unauthenticated');
    expect((await worker.ask('job_claim', { request_id: randomUUID() })).status).toBe(200);
  });

  it('H24 writes under its own leases only: another worker with the right triple is stale', async () => {
    const [one, two] = [await farm.aWorker(), await farm.aWorker()];
    const job = await aLeasedJob(one);
    const end = { job_id: job.id, epoch: job.epoch, lease_id: job.lease_id, ended: 'done', result: {} };
    expectProblem(await two.ask('job_complete', end), 409, 'stale_lease');
    await expect(one.call(jobComplete, end)).resolves.toMatchObject({ state: 'done' });
  });

  it('D17 a stolen job token alone, or beside another worker’s own, is stale', async () => {
    const [one, two] = [await farm.aWorker(), await farm.aWorker()];
    const job = await aLeasedJob(one);
    const road = `/v1/jobs/${job.id}/request`;
    const alone = { 'longshore-job': job.token };
    expectProblem(await farm.fetch(road, { headers: alone }), 409, 'stale_lease');
    expectProblem(await farm.fetch(road, { headers: { ...alone, ...bearer(two.token) } }), 409, 'stale_lease');
    expectProblem(
      await farm.fetch('/v1/operations/get_current_context', post({ input: {} }, alone)),
      409,
      'stale_lease',
    );
    expectProblem(await two.ask('get_current_context', {}, { jobToken: job.token }), 409, 'stale_lease');
    for (const forged of ['SECRET', `${job.token.slice(0, -4)}AAAA`, one.token])
      expectProblem(await one.ask('get_current_context', {}, { jobToken: forged }), 409, 'stale_lease');
  });

  it('D17 a job token reads and writes its own job and epoch, no other’s', async () => {
    const worker = await farm.aWorker();
    const [one, two] = [await aLeasedJob(worker), await aLeasedJob(worker)];
    const headers = { ...bearer(worker.token), 'longshore-job': one.token };
    const commit = 'a'.repeat(40);
    const put = (path: string) => farm.fetch(path, { method: 'PUT', headers, body: 'SECRET' });
    expectProblem(await farm.fetch(`/v1/jobs/${two.id}/request`, { headers }), 409, 'stale_lease');
    expectProblem(await put(`/v1/jobs/${two.id}/epochs/1/packs/${commit}`), 409, 'stale_lease');
    expectProblem(await put(`/v1/jobs/${one.id}/epochs/2/packs/${commit}`), 409, 'stale_lease');
    expectProblem(await put(`/v1/jobs/${one.id}/epochs/2/output/0`), 409, 'stale_lease');
    expectProblem(await put(`/v1/jobs/${one.id}/epochs/1/packs/..%2F..%2Fx`), 422, 'invalid_input');
    expectProblem(
      await farm.fetch(`/v1/jobs/${one.id}/request`, { headers: bearer(worker.token) }),
      409,
      'stale_lease',
    );
  });

  it('D16 is not a boot that has been succeeded', async () => {
    const worker = await farm.aWorker();
    const boot = randomUUID();
    const refused = await worker.renew(boot, 'elsewhere');
    expectProblem(refused, 409, 'identity_in_use');
    expect(refused.body).toMatchObject({ detail: expect.stringContaining('here') });
    const report = { slots: 1, busy: 0, labels: [], goodbye: true };
    await worker.ask('job_heartbeat', { worker: report });
    expect((await worker.renew(boot, 'elsewhere')).status).toBe(200);
    expectProblem(await worker.ask('job_claim', { request_id: randomUUID() }), 409, 'identity_in_use');
  });
});

describe('what people are told', () => {
  const Listed = z.object({
    operations: z.array(
      z.object({ name: z.string(), input_schema: z.looseObject({}), output_schema: z.looseObject({}) }),
    ),
  });

  it('A5.5 lists what may be called, with the schemas that the OpenAPI document has', async () => {
    const headers = bearer(farm.admin.token);
    const { operations } = Listed.parse((await farm.fetch('/v1/operations', { headers })).body);
    const names = operations.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['status', 'worker_invite', 'task_start']));
    expect(names).not.toEqual(expect.arrayContaining(['job_claim']));
    const document = z
      .object({
        openapi: z.literal('3.1.0'),
        jsonSchemaDialect: z.string(),
        paths: z.record(z.string(), z.looseObject({})),
      })
      .parse((await farm.fetch('/v1/openapi.json', { headers })).body);
    expect(Object.keys(document.paths).sort()).toEqual(names.map((name) => `/v1/operations/${name}`).sort());
    for (const { name, input_schema, output_schema } of operations) {
      const content = (schema: object) => ({ content: { 'application/json': { schema: { properties: schema } } } });
      expect(document.paths[`/v1/operations/${name}`]).toMatchObject({
        post: { requestBody: content({ input: input_schema }), responses: { 200: content({ result: output_schema }) } },
      });
    }
  });

  it('A6.1 A6.2 shows what a cancellation would do, and does it when it is meant', async () => {
    const { job_id } = await farm.admin.call(jobSubmit, { kind: 'to_cancel' });
    const asked = await farm.admin.ask('queue_cancel', { job_id });
    expectProblem(asked, 409, 'confirmation_required');
    expect(asked.body).toMatchObject({
      proposal: { count: 1, changes: [{ id: job_id, before: { state: 'queued' }, after: { state: 'cancelled' } }] },
    });
    const state = async () => (await farm.admin.call(queueList, {})).jobs.find(({ id }) => id === job_id)?.state;
    expect(await state()).toBe('queued');
    expect((await farm.admin.ask('queue_cancel', { job_id }, { confirm: true })).status).toBe(200);
    expect(await state()).toBe('cancelled');
  });

  it('P5 submits once under one key, and refuses the key for another job', async () => {
    const key = randomUUID();
    const submit = (kind: string) => farm.admin.ask('job_submit', { kind }, { key });
    const [one, two] = await Promise.all([submit('once'), submit('once')]);
    expect(one.body).toEqual(two.body);
    expectProblem(await submit('twice'), 422, 'idempotency_mismatch');
    expectProblem(
      await farm.admin.ask('job_submit', { kind: 'x' }, { key: 'SECRET '.repeat(60) }),
      400,
      'idempotency_key_invalid',
    );
  });

  it('H41 shows a join ticket once, also to a repeated call', async () => {
    const key = randomUUID();
    expect((await farm.admin.ask('worker_invite', {}, { key })).status).toBe(200);
    expectProblem(await farm.admin.ask('worker_invite', {}, { key }), 409, 'conflict');
  });

  it('is told of the machines: invited, live, paused, gone', async () => {
    const worker = await farm.aWorker({ pool: 'gpu', labels: ['gpu'], slots: 2, name: 'north' });
    const view = async () =>
      (await farm.admin.call(workerList, {})).workers.find(({ worker_id }) => worker_id === worker.id);
    expect(await view()).toMatchObject({ name: 'north', pool: 'gpu', labels: ['gpu'], slot_ceiling: 2, state: 'live' });
    await farm.admin.ask('worker_pause', { worker_id: worker.id, note: 'new disk' });
    expect(await view()).toMatchObject({ state: 'paused', note: 'new disk' });
    await farm.admin.ask('worker_resume', { worker_id: worker.id });
    await worker.ask('job_heartbeat', { worker: { slots: 2, busy: 0, labels: ['gpu'], goodbye: true } });
    expect(await view()).toMatchObject({ state: 'gone' });
  });

  it('is told whether it lives, whether it can serve, and its counts', async () => {
    expect((await farm.fetch('/healthz')).status).toBe(200);
    expect((await farm.fetch('/readyz')).body).toMatchObject({ status: 'ready' });
    const { text } = await farm.fetch('/metrics');
    expect(text).toContain('# TYPE longshore_gate_calls_total counter');
    expect(text).toMatch(/longshore_gate_refusals_total\{code="not_available",door="node",step="exposure"\} \d+/);
    expect((await farm.fetch('/.well-known/jwks.json')).text).not.toContain('"d"');
  });
});
