import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { checkpoint, contract, FarmError, storable } from '#contracts';
import { type Database, openDatabase, type Statement, statement, type Transaction } from '#store';
import { aDatabase, type TestDatabase } from '../../../test/support/database.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { type Gate, type GateCall, openGate } from './gate.js';
import { type FarmKeys, openFarmKeys } from './keys/farm-keys.js';
import { Metrics } from './metrics.js';
import { type Access, type Call, type Operation, operationFor } from './operation.js';
import type { JobClaims, PersonRole, Principal } from './principal.js';
import { registryOf } from './registry.js';

interface Shelf {
  /** What the rules of the test saw. */
  readonly seen: string[];
}

const operation = operationFor<Shelf>();
const write = statement<unknown>('test.write', `insert into quota (name, max) values ($name, $max)`);
const written = statement<{ name: string }>('test.written', 'select name from quota order by name');
const readAudit: Statement<AuditRow> = statement('test.audit', 'select * from audit order by seq');

interface AuditRow {
  readonly kind: string;
  readonly door: string;
  readonly class: string;
  readonly actor: string | null;
  readonly agent_id: string | null;
  readonly input_hash: Buffer;
  readonly hash_key_id: string;
  readonly outcome: string;
  readonly job_id: string | null;
  readonly epoch: number | null;
}

const text = z.strictObject({ text: storable(64) });
const done = z.strictObject({ done: z.literal(true) });
const state = <I extends z.ZodType, O extends z.ZodType>(name: string, input: I, output: O) =>
  contract({ name, summary: 'For a test.', input, output });

const peek = operation(
  state('shelf_peek', text, done),
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  {
    async run({ text: given }, _, { services }, tx) {
      services.seen.push(given);
      if (given === 'write') await tx.run(write, { name: 'peeked', max: 1 });
      return { done: true as const };
    },
  },
);

const mutate: Access = { catalogue: 'operator', class: 'mutate', ceiling: 'off', consent: 'implied' };
const preview = async ({ text: given }: { text: string }, _: Call<Shelf>, tx: Transaction) => {
  if (given === 'write') await tx.run(write, { name: 'previewed', max: 1 });
  return { summary: 'Puts one thing', changes: [{ id: 'x', before: null, after: 1 }] };
};
const put = operation(state('shelf_put', text, done), mutate, {
  preview,
  async run({ text: given }, _, { services }, tx) {
    services.seen.push(given);
    await tx.run(write, { name: given, max: 1 });
    if (given === 'lie') return JSON.parse('{"done":"SECRET"}');
    if (given === 'throw') throw new TypeError('SECRET');
    return { done: true as const };
  },
});
const clear = operation(
  state('shelf_clear', text, done),
  { ...mutate, consent: 'ask' },
  {
    preview,
    run: async () => ({ done: true as const }),
  },
);
const rule = operation(
  state('shelf_rule', text, done),
  { ...mutate, catalogue: 'admin', ceiling: 'never' },
  {
    run: async () => ({ done: true as const }),
  },
);
const send = operation(
  state('shelf_send', text, done),
  { ...mutate, class: 'send', ceiling: 'never' },
  {
    run: async () => ({ done: true as const }),
  },
);
const member = operation(
  checkpoint,
  { catalogue: 'member', class: 'protocol', ceiling: 'on', audit: 'always' },
  {
    async run(input, _, { services }) {
      services.seen.push(input.summary);
      return { checkpoint: { id: randomUUID(), ...input }, terminal: false, must_stop: false };
    },
  },
);
const hello = operation(
  contract({ name: 'job_fail', summary: 'For a test.', input: text, output: done }),
  { catalogue: 'job', class: 'protocol', ceiling: 'on', audit: 'always' },
  {
    async run({ text: given }, _, call) {
      call.audit.under({ job: '00000000-0000-4000-8000-000000000001', epoch: 7 });
      if (given === 'throw') throw new TypeError('SECRET');
      return { done: true as const };
    },
  },
);
const putAll = operation(
  contract({ name: 'job_complete', summary: 'For a test.', input: text, output: done }),
  { catalogue: 'job', class: 'protocol', ceiling: 'on', audit: 'always' },
  {
    async run({ text: given }, _, { services }, tx) {
      services.seen.push(`alone ${given}`);
      await tx.run(write, { name: given, max: 1 });
      return { done: true as const };
    },
    async together(calls, tx) {
      calls[0]?.call.services.seen.push(`together ${calls.map(({ input }) => input.text).join(' ')}`);
      for (const { input } of calls) if (input.text !== 'doubtful') await tx.run(write, { name: input.text, max: 1 });
      return calls.map(({ input }) => (input.text === 'doubtful' ? undefined : { done: true as const }));
    },
  },
);

const tell = operation(
  state('shelf_tell', text, z.strictObject({ told: z.string() })),
  { ...mutate, ceiling: 'never' },
  {
    async run({ text: given }, _, { services }, tx) {
      services.seen.push(`run ${given}`);
      await tx.run(write, { name: given, max: 1 });
      return { told: 'not yet' };
    },
    async follow({ text: given }, { services }) {
      services.seen.push(`follow ${given}`);
      if (given === 'nobody') throw new FarmError('conflict', 'Nobody is there.');
      if (given === 'throw') throw new TypeError('SECRET');
      return given === 'later' ? undefined : { told: given };
    },
  },
);

const operations: readonly Operation<Shelf>[] = [peek, put, clear, rule, send, member, hello, putAll, tell];

let copy: TestDatabase;
let database: Database;
let owner: Database;
let keys: FarmKeys;
let gate: Gate<Shelf>;
let metrics: Metrics;
let shelf: Shelf;
const faults: unknown[] = [];
let staleLeases: ReadonlySet<string> = new Set();

beforeAll(async () => {
  copy = await aDatabase();
  database = openDatabase({ url: copy.appUrl, max: 4 });
  owner = openDatabase({ url: copy.ownerUrl, max: 1 });
  keys = await openFarmKeys(tempDir('keys'));
});
afterAll(async () => {
  await database.close();
  await owner.close();
});

beforeEach(async () => {
  await owner.run(statement('test.clear', 'truncate audit, quota, receipt'));
  metrics = new Metrics();
  shelf = { seen: [] };
  faults.length = 0;
  staleLeases = new Set();
  gate = openGate({
    registry: registryOf(operations),
    services: shelf,
    database,
    inputs: keys.inputs,
    metrics,
    checkLease: async (_tx, _principal, { lease_id }) => {
      if (staleLeases.has(lease_id)) throw new FarmError('stale_lease');
    },
    onFault: (error) => faults.push(error),
  });
});

const aPerson = (role: PersonRole = 'operator'): Principal => ({ kind: 'person', id: 'p_aaaaaaaa', name: 'Ada', role });
const aWorker: Principal = {
  kind: 'worker',
  id: 'w_aaaaaaaa',
  boot: randomUUID(),
  pool: 'default',
  labels: [],
  accounts: [],
  slots: 1,
  offers: [],
  accepting: true,
};
const aJob: JobClaims = { job: randomUUID(), epoch: 2, lease_id: randomUUID(), kind: 'dispatch', holder: 'w_aaaaaaaa' };

type Asked = Partial<GateCall> & { readonly name: string };

function ask(given: Asked): Promise<unknown> {
  return gate.call({
    door: 'cli',
    principal: aPerson(),
    input: { text: 'a' },
    signal: new AbortController().signal,
    ...given,
  });
}

async function refusal(given: Asked): Promise<FarmError> {
  return await ask(given).then(
    () => {
      throw new Error('it was not refused');
    },
    (error) => error,
  );
}

const things = async () => (await database.all(written)).map(({ name }) => name);
const audit = () => database.all(readAudit);

describe('an effect that others finish', () => {
  it('is followed after its commit, also when the call is repeated; what was done is audited once, whatever comes of it', async () => {
    const say = (given: string) => ask({ name: 'shelf_tell', input: { text: given }, callId: given });
    expect(await say('heard')).toEqual({ told: 'heard' });
    expect(await say('heard')).toEqual({ told: 'heard' });
    expect(await say('later')).toEqual({ told: 'not yet' });
    await expect(say('nobody')).rejects.toMatchObject({ code: 'conflict' });
    await expect(say('throw')).rejects.toMatchObject({ code: 'internal' });
    expect(shelf.seen).toEqual([
      ...['run heard', 'follow heard', 'follow heard', 'run later', 'follow later'],
      ...['run nobody', 'follow nobody', 'run throw', 'follow throw'],
    ]);
    expect((await database.all(written)).map(({ name }) => name)).toEqual(['heard', 'later', 'nobody', 'throw']);
    expect((await owner.all(readAudit)).map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok', 'ok']);
  });
});

describe('step 1, exposure', () => {
  it('A5.2 answers a hidden operation like one that does not exist', async () => {
    const atNode = { door: 'node' as const, principal: aWorker };
    const hidden = await refusal({ name: 'shelf_rule', ...atNode });
    const absent = await refusal({ name: 'no_such_thing', ...atNode });
    expect({ ...hidden }).toEqual({ ...absent });
    expect(hidden).toMatchObject({ code: 'not_available', message: absent.message });
  });

  it('A5.11 does not look at the input of a hidden operation', async () => {
    expect(await refusal({ name: 'shelf_put', door: 'node', principal: aWorker, input: { a: 1 } })).toMatchObject({
      code: 'not_available',
      fields: undefined,
    });
  });

  it('H24 shows a worker the job catalogue, and the member catalogue beside a job token, and nothing else', async () => {
    const names = async (job?: JobClaims) =>
      (await gate.offeredTo({ door: 'node', principal: aWorker, ...(job && { job }) })).map(({ name }) => name);
    expect(await names()).toEqual(['job_complete', 'job_fail']);
    expect(await names(aJob)).toEqual(['checkpoint', 'job_complete', 'job_fail']);
    expect(await refusal({ name: 'shelf_rule', door: 'node', principal: aWorker })).toMatchObject({
      code: 'not_available',
    });
  });

  it('shows a person what its role may do, and says so of the rest', async () => {
    expect(await refusal({ name: 'shelf_put', principal: aPerson('viewer') })).toMatchObject({
      code: 'not_allowed',
      hint: expect.stringContaining('the role operator'),
    });
    expect(await refusal({ name: 'shelf_rule', principal: aPerson('operator') })).toMatchObject({
      code: 'not_allowed',
    });
    expect(await refusal({ name: 'job_fail', principal: aPerson('admin') })).toMatchObject({ code: 'not_available' });
    await expect(ask({ name: 'shelf_rule', principal: aPerson('admin') })).resolves.toEqual({ done: true });
    for (const role of ['viewer', 'operator', 'admin'] as const) {
      const offered = (await gate.offeredTo({ door: 'cli', principal: aPerson(role) })).map(({ name }) => name);
      for (const { name } of operations) {
        const answer = await ask({
          name,
          principal: aPerson(role),
          confirm: true,
          input: { text: `${role}-${name}` },
        }).then(
          () => 'ran',
          (error: FarmError) => error.code,
        );
        expect([name, offered.includes(name)]).toEqual([name, answer === 'ran' || answer === 'send_refused']);
      }
    }
  });
});

describe('steps 2 to 4', () => {
  it('A5.10 logs nothing of a bad input', async () => {
    const refused = await refusal({ name: 'shelf_put', input: { text: `SECRET${'x'.repeat(99)}`, more: 'SECRET' } });
    expect(refused).toMatchObject({ code: 'invalid_input' });
    expect(`${refused.message} ${JSON.stringify(refused)} ${metrics.print()}`).not.toContain('SECRET');
    expect(faults).toEqual([]);
  });

  it('H13 refuses what PostgreSQL can not hold before it gets there', async () => {
    for (const given of ['nul \u0000', 'lone \ud800', 'x'.repeat(65)])
      expect(await refusal({ name: 'shelf_put', input: { text: given } })).toMatchObject({ code: 'invalid_input' });
    expect(shelf.seen).toEqual([]);
  });

  it('A5.12 refuses class send to everyone, after the input', async () => {
    expect(await refusal({ name: 'shelf_send', confirm: true })).toMatchObject({ code: 'send_refused' });
    expect(await refusal({ name: 'shelf_send', confirm: true, input: {} })).toMatchObject({ code: 'invalid_input' });
  });

  it('A6.2 answers an unconfirmed mutation with what it would do, and does nothing', async () => {
    expect(await refusal({ name: 'shelf_clear' })).toMatchObject({
      code: 'confirmation_required',
      proposal: { summary: 'Puts one thing', count: 1, changes: [{ id: 'x', before: null, after: 1 }] },
    });
    expect(await refusal({ name: 'shelf_clear', input: { text: 'write' } })).toMatchObject({ code: 'internal' });
    expect([await things(), await audit()]).toEqual([[], []]);
    await expect(ask({ name: 'shelf_clear', confirm: true })).resolves.toEqual({ done: true });
  });

  it('A5.14 counts refusals by door, step and code, and names nothing at step 1', async () => {
    for (let n = 0; n < 5; n += 1)
      await refusal({ name: n % 2 ? 'no_such_thing' : 'shelf_put', door: 'node', principal: aWorker });
    await refusal({ name: 'shelf_put', input: {} });
    const count = (labels: Record<string, string>) => metrics.valueOf('longshore_gate_refusals_total', labels);
    expect(count({ door: 'node', step: 'exposure', code: 'not_available' })).toBe(5);
    expect(count({ door: 'cli', step: 'input', code: 'invalid_input', operation: 'shelf_put' })).toBe(1);
    expect(await audit()).toEqual([]);
  });
});

describe('step 5', () => {
  it('A2.11 runs a read where PostgreSQL refuses to write', async () => {
    expect(await refusal({ name: 'shelf_peek', input: { text: 'write' } })).toMatchObject({ code: 'internal' });
    expect(faults).toMatchObject([{ code: '25006' }]);
    expect(await things()).toEqual([]);
  });

  it('A7.1 A7.2 undoes a mutation whose output does not fit, and shows no value of it', async () => {
    const refused = await refusal({ name: 'shelf_put', input: { text: 'lie' } });
    expect(refused).toMatchObject({ code: 'invalid_output' });
    expect(refused.message).not.toContain('SECRET');
    expect([shelf.seen, await things()]).toEqual([['lie'], []]);
  });

  it('A7.3 lets nothing pass that the contract does not hold', async () => {
    await expect(ask({ name: 'shelf_put', input: { text: 'lie' } })).rejects.toMatchObject({ code: 'invalid_output' });
    await expect(ask({ name: 'shelf_put', input: { text: 'truth' } })).resolves.toEqual({ done: true });
  });

  it('tells the caller nothing of a fault of ours', async () => {
    const refused = await refusal({ name: 'shelf_put', input: { text: 'throw' } });
    expect({ code: refused.code, detail: refused.detail }).toEqual({ code: 'internal', detail: 'A fault of ours' });
    expect(faults).toHaveLength(1);
  });
});

describe('the audit', () => {
  it('A7.4 A7.5 says which call, by which door, whose, and of the input a keyed hash', async () => {
    await ask({ name: 'shelf_put', input: { text: 'yes' } });
    const [row] = await audit();
    expect(row).toMatchObject({
      kind: 'call:shelf_put',
      door: 'cli',
      class: 'user',
      actor: 'p_aaaaaaaa',
      agent_id: null,
      outcome: 'ok',
      hash_key_id: keys.inputs.keyId,
    });
    expect(row?.input_hash).toEqual(keys.inputs.hash('shelf_put', { text: 'yes' }));
    for (const guess of ['yes', '{"text":"yes"}', 'input\nshelf_put\n{"text":"yes"}'])
      expect(row?.input_hash).not.toEqual(createHash('sha256').update(guess).digest());
  });

  it('A7.5 has one hash for one input, however its keys are ordered', () => {
    expect(keys.inputs.hash('x', { a: 1, b: [{ c: 2, d: 3 }] })).toEqual(
      keys.inputs.hash('x', { b: [{ d: 3, c: 2 }], a: 1 }),
    );
    expect(keys.inputs.hash('x', { a: 1 })).not.toEqual(keys.inputs.hash('y', { a: 1 }));
  });

  it('A7.6 has mutations that ran and what is always audited; no reads, proposals, refusals', async () => {
    await ask({ name: 'shelf_peek' });
    await refusal({ name: 'shelf_clear' });
    await refusal({ name: 'shelf_put', input: {} });
    expect(await audit()).toEqual([]);
    await ask({ name: 'shelf_clear', confirm: true });
    await ask({ name: 'job_fail', door: 'node', principal: aWorker });
    expect((await audit()).map(({ kind }) => kind)).toEqual(['call:shelf_clear', 'call:job_fail']);
  });

  it('A7.7 says how a call ended, also one that failed, and under which lease', async () => {
    await refusal({ name: 'shelf_put', input: { text: 'lie' } });
    await ask({ name: 'job_fail', door: 'node', principal: aWorker });
    await refusal({ name: 'job_fail', door: 'node', principal: aWorker, input: { text: 'throw' } });
    const lease = { job_id: '00000000-0000-4000-8000-000000000001', epoch: 7 };
    expect(await audit()).toMatchObject([
      { kind: 'call:shelf_put', outcome: 'error:invalid_output', actor: 'p_aaaaaaaa' },
      { kind: 'call:job_fail', outcome: 'ok', class: 'agent', agent_id: 'w_aaaaaaaa', actor: null, ...lease },
      { kind: 'call:job_fail', outcome: 'error:internal', ...lease },
    ]);
  });

  it('A7.8 commits with the effect: what can not be audited does not happen', async () => {
    await owner.run(statement('test.lock', 'revoke insert on audit from longshore_app'));
    try {
      expect(await refusal({ name: 'shelf_put', input: { text: 'unseen' } })).toMatchObject({ code: 'internal' });
      expect(await things()).toEqual([]);
    } finally {
      await owner.run(statement('test.unlock', 'grant insert on audit to longshore_app'));
    }
  });

  it('A7.6 can not be changed by a controller', async () => {
    await ask({ name: 'shelf_put' });
    await expect(database.run(statement('test.forge', `update audit set outcome = 'ok'`))).rejects.toMatchObject({
      code: '42501',
    });
    await expect(database.run(statement('test.drop', 'delete from audit'))).rejects.toMatchObject({ code: '42501' });
  });
});

describe('a call with a key of its own', () => {
  it('P5 is done once, answered as often as it is sent, and refused with another input', async () => {
    const once = { name: 'shelf_put', callId: 'k-1', input: { text: 'one' } };
    await expect(Promise.all([ask(once), ask(once), ask(once)])).resolves.toEqual([
      { done: true },
      { done: true },
      { done: true },
    ]);
    expect([shelf.seen, await things()]).toEqual([['one'], ['one']]);
    expect(await audit()).toHaveLength(1);
    expect(await refusal({ ...once, input: { text: 'two' } })).toMatchObject({ code: 'idempotency_mismatch' });
    expect(await things()).toEqual(['one']);
  });

  it('P5 that failed may be tried again', async () => {
    await refusal({ name: 'shelf_put', callId: 'k-2', input: { text: 'lie' } });
    await refusal({ name: 'shelf_put', callId: 'k-2', input: { text: 'lie' } });
    expect(shelf.seen).toEqual(['lie', 'lie']);
  });

  it('D2 of a member is answered again by job and call id, with the first answer', async () => {
    const call = { name: 'checkpoint', door: 'node' as const, principal: aWorker, input: { summary: 'Half way' } };
    const first = await ask({ ...call, job: aJob, callId: 'c-1' });
    expect(await ask({ ...call, job: { ...aJob, epoch: 3 }, callId: 'c-1' })).toEqual(first);
    expect(await ask({ ...call, job: aJob, callId: 'c-2' })).not.toEqual(first);
    expect(await ask({ ...call, job: { ...aJob, job: randomUUID() }, callId: 'c-1' })).not.toEqual(first);
    expect(shelf.seen).toHaveLength(3);
  });

  it('H14 is not answered from the past for a lease that is over', async () => {
    const call = {
      name: 'checkpoint',
      door: 'node' as const,
      principal: aWorker,
      job: aJob,
      callId: 'c-3',
      input: { summary: 'x' },
    };
    await ask(call);
    staleLeases = new Set([aJob.lease_id]);
    expect(await refusal(call)).toMatchObject({ code: 'stale_lease' });
  });
});

describe('calls of one moment that share a transaction', () => {
  const put = (given: string) =>
    ask({ name: 'job_complete', door: 'node', principal: aWorker, input: { text: given } });

  it('A7.8 commit together, each with its own answer and its own audit row', async () => {
    expect(await Promise.all(['a', 'b', 'c'].map(put))).toEqual([{ done: true }, { done: true }, { done: true }]);
    expect(shelf.seen).toEqual(['together a b c']);
    expect(await things()).toEqual(['a', 'b', 'c']);
    const rows = await audit();
    expect(rows.map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual(Array(3).fill('call:job_complete ok'));
    expect(new Set(rows.map(({ input_hash }) => input_hash.toString('hex'))).size).toBe(3);
  });

  it('leave alone what is in doubt', async () => {
    await Promise.all(['a', 'doubtful'].map(put));
    expect(shelf.seen).toEqual(['together a doubtful', 'alone doubtful']);
    expect(await audit()).toHaveLength(2);
  });

  it('H13 are all undone when one fails, and then each is run alone: one fails alone', async () => {
    await put('taken');
    const ended = await Promise.allSettled(['a', 'taken', 'b'].map(put));
    expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await things()).toEqual(['a', 'b', 'taken']);
    expect((await audit()).map(({ outcome }) => outcome).sort()).toEqual(['error:internal', 'ok', 'ok', 'ok']);
  });
});
