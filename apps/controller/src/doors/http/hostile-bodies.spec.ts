import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { agentCreate } from '#contracts';
import { aController, post, type TestController } from '../../../../../test/support/a-controller.js';
import { agentToken } from '../../../../../test/support/mcp-client.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
});
afterAll(() => farm.close());

const canary = 'canary-4be1';

/** JSON of any shape, with the canary in every text and key. */
const hostileJson = fc.jsonValue({ maxDepth: 4, noUnicodeString: false }).map((value) => marked(value));

function marked(value: unknown): unknown {
  if (typeof value === 'string') return `${canary}${value}`;
  if (Array.isArray(value)) return value.map(marked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [`${canary}${key}`, marked(inner)]));
}

const body = fc.oneof(
  hostileJson.map((value) => JSON.stringify(value)),
  hostileJson.map((input) => JSON.stringify({ input })),
  hostileJson.map((input) => JSON.stringify({ input: { kind: input, job_id: input, document: input } })),
  fc.tuple(hostileJson, fc.nat(200)).map(([value, end]) => JSON.stringify({ input: value }).slice(0, end)),
  fc.string({ unit: 'binary', maxLength: 200 }).map((text) => `${canary}${text}`),
);
const place = fc.constantFrom(
  '/v1/operations/job_submit',
  '/v1/operations/queue_cancel',
  '/v1/operations/workflow_import',
  `/v1/operations/${canary}`,
  '/v1/token',
  '/v1/enrol',
);
const contentType = fc.constantFrom('application/json', 'application/json; charset=utf-16', 'text/plain', canary);

describe('hostile bodies', () => {
  it('get an answer, never a fault of ours, and are quoted in no refusal and no log', async () => {
    await fc.assert(
      fc.asyncProperty(place, contentType, body, async (path, type, text) => {
        const headers = { authorization: `Bearer ${farm.admin.token}`, 'content-type': type };
        const answer = await farm.fetch(path, { ...post(text), headers });
        expect(answer.status).toBeLessThan(500);
        if (answer.status >= 400) expect(answer.text).not.toContain(canary);
      }),
      { numRuns: 600 },
    );
    expect(farm.logged.filter((line) => line.includes(canary))).toEqual([]);
  }, 120_000);
});

describe('the token of an agent', () => {
  it('A1.6 A10.4 opens no operation and no listing by HTTP, and tells of none', async () => {
    const made = await farm.admin.call(agentCreate, { name: 'puppet', kinds: ['mail'] }, { confirm: true });
    const authorization = `Bearer ${await agentToken(farm, made)}`;
    const { body: nobody } = await farm.fetch(
      '/v1/operations/queue_requeue',
      post({ input: {} }, { authorization: 'Bearer none' }),
    );
    for (const path of ['/v1/operations/queue_requeue', '/v1/operations/job_claim', '/v1/operations/no_such_thing']) {
      const answer = await farm.fetch(path, post({ input: {} }, { authorization }));
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
      expect(answer.body).toEqual({ ...Object(nobody), instance: expect.any(String) });
    }
    for (const path of ['/v1/operations', '/v1/openapi.json'])
      expect((await farm.fetch(path, { headers: { authorization } })).status).toBe(401);
  });
});
