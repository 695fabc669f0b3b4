import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { jobClaim, jobComplete, jobHeartbeat, policySet, taskOverview, taskStart, workflowImport } from '#contracts';
import { aController, type TestController, type TestWorker } from '../../../../../test/support/a-controller.js';
import { operations } from '../../operations/catalogue.js';

const canary = 'canary-7f3a';
const hostile: readonly unknown[] = [
  `${canary}\0`,
  `${canary}\ud800`,
  canary.repeat(7_000),
  '99999999999999999999999',
  -1,
  2 ** 31,
  Number.MAX_SAFE_INTEGER,
  1e308,
  1.5,
  null,
  [canary],
  JSON.parse('['.repeat(1_000) + ']'.repeat(1_000)),
  JSON.parse(`{"__proto__": {"${canary}": 1}, "constructor": {"prototype": 1}}`),
  { [`${canary}\0`]: '' },
  { key: `${canary}\0` },
  { '\udc00': `${canary}\udc00` },
];

/** The input, with each of the hostile values in each of its places. */
function* attacksOn(input: unknown): Generator<unknown> {
  yield* hostile;
  if (typeof input !== 'object' || input === null) return;
  for (const [key, value] of Object.entries(input)) {
    for (const attack of attacksOn(value)) {
      yield Array.isArray(input) ? input.map((each) => (each === value ? attack : each)) : { ...input, [key]: attack };
    }
  }
}

const Shape = z.looseObject({
  type: z.union([z.string(), z.array(z.string()).transform(([one]) => one)]).optional(),
  pattern: z.string().optional(),
  format: z.string().optional(),
  minimum: z.number().optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
});

/** Something that has every field of a schema and mostly passes it. */
function sampleOf(schema: unknown): unknown {
  const shape = Shape.parse(schema ?? {});
  const [one] = shape.anyOf ?? shape.oneOf ?? [];
  if (one !== undefined) return sampleOf(one);
  if (shape.const !== undefined) return shape.const;
  if (shape.enum !== undefined) return shape.enum[0];
  if (shape.properties !== undefined)
    return Object.fromEntries(Object.entries(shape.properties).map(([key, value]) => [key, sampleOf(value)]));
  if (shape.type === 'array') return [sampleOf(shape.items)];
  if (shape.type === 'integer' || shape.type === 'number') return Math.max(1, shape.minimum ?? 1);
  if (shape.type === 'boolean') return false;
  if (shape.type !== 'string') return {};
  return shape.format === 'uuid' ? randomUUID() : sampleText(shape.pattern ?? '');
}

function sampleText(pattern: string): string {
  const [, prefix] = /^\^([a-z])_/.exec(pattern) ?? [];
  if (prefix !== undefined) return `${prefix}_00000001`;
  return pattern.includes('{40}') ? 'a'.repeat(40) : 'abc';
}

const eightAtOnce = (inputs: readonly unknown[]) =>
  Array.from({ length: Math.ceil(inputs.length / 8) }, (_, n) => inputs.slice(8 * n, 8 * n + 8));

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
  await farm.admin.call(workflowImport, { document: 'kind: workflow\nid: solo\ndescription: One\nlead: {id: lead}\n' });
});
afterAll(() => farm.close());

/** A machine with a Dispatch of a Task of its own. */
async function atWork() {
  const pool = `pool-${randomUUID().slice(0, 8)}`;
  const worker = await farm.aWorker({ pool, slots: 2 });
  const { task_id } = await farm.admin.call(taskStart, { workflow_id: 'solo', prompt: 'Do it.', pool });
  const { jobs } = await worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
  if (!jobs[0]) throw new Error('there was nothing to claim');
  const { id: job_id, epoch, lease_id, token } = jobs[0];
  return { pool, task_id, worker, fence: { job_id, epoch, lease_id }, jobToken: token };
}

const report = { slots: 2, busy: 0, labels: [] };
const beatOf = (worker: TestWorker, leases: readonly unknown[]) =>
  worker.ask(jobHeartbeat.name, { worker: report, leases });

describe('hostile input', () => {
  it('H13 is refused by name in every field of every operation, and quoted in no refusal and no log', async () => {
    const { worker, jobToken } = await atWork();
    let sent = 0;
    for (const { contract, access } of operations) {
      const byWorker = access.catalogue === 'member' || access.catalogue === 'job';
      const sample = sampleOf(z.toJSONSchema(contract.input, { io: 'input', unrepresentable: 'any' }));
      const ask = (input: unknown) =>
        byWorker
          ? worker.ask(contract.name, input, { jobToken, key: randomUUID() })
          : farm.admin.ask(contract.name, input, { confirm: true });
      for (const inputs of eightAtOnce([...attacksOn(sample)])) {
        for (const { status, text } of await Promise.all(inputs.map(ask))) {
          expect([contract.name, status < 500]).toEqual([contract.name, true]);
          if (status >= 400) expect(text).not.toContain(canary);
          sent += 1;
        }
      }
    }
    // One of the values was a policy, which forbids what the next tests do.
    await farm.admin.call(policySet, {}, { confirm: true });
    expect(sent).toBeGreaterThan(1_000);
    expect(farm.logged.filter((line) => line.includes(canary))).toEqual([]);
  }, 240_000);

  it('H13 ends no lease of a machine that beats with it', async () => {
    const { worker, fence } = await atWork();
    const beat = {
      ...fence,
      phase: 'started',
      session_ref: 's',
      idle_ms: 1,
      progress: {},
      acks: [{ seq: 1, outcome: 'delivered' }],
    };
    for (const attack of attacksOn(beat)) expect((await beatOf(worker, [attack])).status).toBeLessThan(500);
    expect((await beatOf(worker, [{ ...beat, idle_ms: Number.MAX_SAFE_INTEGER }])).body).toMatchObject({
      result: { leases: [{ held: true }] },
    });
  });

  it('ends a Dispatch whose provider asks for a pause of a thousand years, and asks it again in a week', async () => {
    const { worker, fence, task_id } = await atWork();
    const result = { retry_after_ms: Number.MAX_SAFE_INTEGER };
    await worker.call(jobComplete, { ...fence, ended: 'limited', result });
    expect(await farm.admin.call(taskOverview, { task_id })).toMatchObject({ status: 'running' });
  });
});
