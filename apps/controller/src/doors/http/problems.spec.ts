import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { errorCodes, Problem } from '#contracts';
import { type Answer, aController, post, type TestController } from '../../../../../test/support/a-controller.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
});
afterAll(() => farm.close());

const problemOf = (answer: Answer) => Problem.parse(answer.body);

describe('a problem', () => {
  it('A10.5 says type, constant title, status, detail and the call it belongs to, and points at fields by JSON pointers', async () => {
    const one = await farm.admin.ask('quota_set', { name: 'S3CRET ', weight: 'S3CRET' });
    const two = await farm.admin.ask('job_submit', { kind: 5, labels: ['ok', 7] });
    for (const answer of [one, two]) {
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        422,
        'application/problem+json; charset=utf-8',
      ]);
      expect(problemOf(answer)).toMatchObject({
        type: '/problems/invalid_input',
        title: errorCodes.invalid_input.title,
        status: 422,
        code: 'invalid_input',
        detail: expect.any(String),
        instance: expect.stringMatching(/^urn:longshore:call:[0-9a-f-]{36}$/),
      });
      expect(answer.text).not.toContain('S3CRET');
    }
    expect(problemOf(one).instance).not.toBe(problemOf(two).instance);
    expect(problemOf(two).fields?.map(({ path }) => path)).toEqual(['/kind', '/labels/1']);
  });

  it('S3.2 has a type that leads to what it means: one title per type, without a credential, as JSON or as a page', async () => {
    const Explained = z.object({ type: z.string(), title: z.string(), status: z.int(), what_to_do: z.string() });
    for (const [code, { title, status }] of Object.entries(errorCodes)) {
      const explained = Explained.parse((await farm.fetch(`/problems/${code}`)).body);
      expect(explained).toMatchObject({ type: `/problems/${code}`, title, status });
    }
    const page = await farm.fetch('/problems/stale_lease', { headers: { accept: 'text/html' } });
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.text).toContain(errorCodes.stale_lease.title);
    expect((await farm.fetch('/problems/S3CRET')).status).toBe(404);
  });

  it('A10.6 has the status of its code', () => {
    const statuses = Object.fromEntries(Object.entries(errorCodes).map(([code, { status }]) => [code, status]));
    expect(statuses).toMatchObject({
      invalid_input: 422,
      confirmation_required: 409,
      confirmation_invalid: 409,
      changed_since_proposal: 409,
      too_many_pending: 429,
      too_many_requests: 429,
      send_refused: 403,
      not_allowed: 403,
      unauthenticated: 401,
      not_available: 404,
      not_found: 404,
      stale_lease: 409,
      idempotency_key_invalid: 400,
      idempotency_mismatch: 422,
      too_large: 413,
      invalid_output: 500,
      internal: 500,
      unavailable: 503,
      timeout: 504,
    });
  });
});

describe('an envelope', () => {
  const call = (name: string, body: unknown, key?: string) =>
    farm.fetch(
      `/v1/operations/${name}`,
      post(body, {
        authorization: `Bearer ${farm.admin.token}`,
        ...(key !== undefined && { 'idempotency-key': key }),
      }),
    );

  it('A10.2 holds input and, where it is meant, confirm; the answer holds the result', async () => {
    const { body } = await call('job_submit', { input: { kind: 'held' } });
    const { job_id } = z.object({ result: z.object({ job_id: z.string() }) }).parse(body).result;
    const unconfirmed = await call('queue_cancel', { input: { job_id } });
    expect([unconfirmed.status, problemOf(unconfirmed).code]).toEqual([409, 'confirmation_required']);
    const confirmed = await call('queue_cancel', { input: { job_id }, confirm: true });
    expect([confirmed.status, Object.keys(z.looseObject({}).parse(confirmed.body))]).toEqual([200, ['result']]);
    for (const body of [{}, [], null, { inputs: {} }, { input: {}, confirm: 'yes' }, { input: {}, confirmed: true }])
      expect([body, (await call('queue_list', body)).status]).toEqual([body, 422]);
  });

  it('S3.3 comes with a key: the same input gets the stored answer, another one 422, a key that is none 400', async () => {
    const key = randomUUID();
    const first = await call('job_submit', { input: { kind: 'once' } }, key);
    const again = await call('job_submit', { input: { kind: 'once' } }, key);
    expect([first.status, again.body]).toEqual([200, first.body]);
    const other = await call('job_submit', { input: { kind: 'other' } }, key);
    expect([other.status, problemOf(other).code]).toEqual([422, 'idempotency_mismatch']);
    for (const bad of ['', 'two words', 'x'.repeat(256), 'ü']) {
      const refused = await call('job_submit', { input: { kind: 'once' } }, bad);
      expect([refused.status, problemOf(refused).code]).toEqual([400, 'idempotency_key_invalid']);
    }
  });
});
