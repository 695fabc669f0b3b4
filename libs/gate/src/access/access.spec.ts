import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { contract, type FarmError } from '#contracts';
import { type Database, openDatabase, statement } from '#store';
import { aDatabase } from '../../../../test/support/database.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { type Gate, type GateCall, openGate } from '../gate.js';
import { Agents } from '../identity/agents.js';
import { type FarmKeys, openFarmKeys } from '../keys/farm-keys.js';
import { Metrics } from '../metrics.js';
import { type Access, type Operation, operationFor } from '../operation.js';
import type { AgentPrincipal, PersonPrincipal, WorkerPrincipal } from '../principal.js';
import { registryOf } from '../registry.js';
import { TokenIssuer } from '../tokens/token-issuer.js';
import { agentKind } from '../tokens/token-kinds.js';
import { addGrant, revokeGrant } from './grants.js';
import { previewExposure, setExposure } from './set-exposure.js';

interface Shelf {
  /** Done in the middle of a call: by `prepare`, before its transaction. */
  meanwhile: (() => Promise<unknown>) | undefined;
  readonly seen: string[];
}

const operation = operationFor<Shelf>();
const write = statement<unknown>('test.write', 'insert into quota (name, max) values ($name, 1)');
const written = statement<{ name: string }>('test.written', 'select name from quota order by name');
const text = z.strictObject({ text: z.string() });
const done = z.strictObject({ done: z.literal(true) });
const named = (name: string, group = 'shelf') =>
  contract({ name, group, summary: 'For a test.', input: text, output: done });

const rule = {
  preview: async () => ({ summary: 'Puts one thing', changes: [] }),
  prepare: async (_input: unknown, { services }: { services: Shelf }) => void (await services.meanwhile?.()),
  async run(
    { text: given }: { text: string },
    _: unknown,
    { services }: { services: Shelf },
    tx: { run: Database['run'] },
  ) {
    services.seen.push(given);
    await tx.run(write, { name: given });
    return { done: true as const };
  },
};
const mutate: Access = { catalogue: 'operator', class: 'mutate', ceiling: 'off' };
const read: Access = { catalogue: 'operator', class: 'read', ceiling: 'off' };
const peek = {
  prepare: rule.prepare,
  async run() {
    return { done: true as const };
  },
};

const operations: readonly Operation<Shelf>[] = [
  operation(named('shelf_put'), mutate, rule),
  operation(named('shelf_peek'), read, peek),
  operation(named('shelf_see'), { ...read, ceiling: 'on' }, peek),
  operation(named('shelf_rule'), { ...mutate, catalogue: 'admin', ceiling: 'never' }, rule),
  operation(named('mail.send_now', 'mail'), { ...mutate, plugin: 'mail' }, rule),
  operation(named('mail.read_one', 'mail'), { ...read, plugin: 'mail' }, peek),
  operation(
    contract({ name: 'job_claim', summary: 'For a test.', input: text, output: done }),
    { catalogue: 'job', class: 'protocol', ceiling: 'on', audit: 'always' },
    {
      run: rule.run,
      async together(calls, tx) {
        for (const { input, call } of calls) await rule.run(input, undefined, call, tx);
        return calls.map(() => ({ done: true as const }));
      },
    },
  ),
  operation(
    contract({ name: 'job_heartbeat', summary: 'For a test.', input: text, output: done }),
    { catalogue: 'job', class: 'protocol', ceiling: 'on', audit: 'always' },
    { run: rule.run },
  ),
];
const registry = registryOf(operations);

let owner: Database;
let keys: FarmKeys;
/** Three controllers over one database, each with connections and memory of its own. */
let databases: readonly Database[];
let gates: readonly Gate<Shelf>[];
let metrics: readonly Metrics[];
let shelf: Shelf;
let agents: Agents;
let agent: AgentPrincipal;
let token: string;

const ada: PersonPrincipal = { kind: 'person', id: 'p_aaaaaaaa', name: 'Ada', role: 'admin' };
const worker: WorkerPrincipal = {
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

beforeAll(async () => {
  const copy = await aDatabase();
  owner = openDatabase({ url: copy.ownerUrl, max: 1 });
  databases = [1, 2, 3].map(() => openDatabase({ url: copy.appUrl, max: 3 }));
  keys = await openFarmKeys(tempDir('keys'));
  await owner.run(
    statement(
      'test.ada',
      `insert into principal (id, kind, name, role) values ('p_aaaaaaaa', 'person', 'Ada', 'admin')`,
    ),
  );
});
afterAll(async () => {
  await Promise.all([owner, ...databases].map((database) => database.close()));
});

beforeEach(async () => {
  await owner.run(
    statement(
      'test.clear',
      'truncate audit, quota, receipt, operation_settings, operation_lift, agent_grant, agent, access_change',
    ),
  );
  shelf = { meanwhile: undefined, seen: [] };
  metrics = databases.map(() => new Metrics());
  gates = databases.map((database, n) =>
    openGate({ registry, services: shelf, database, inputs: keys.inputs, metrics: metrics[n] ?? new Metrics() }),
  );
  const [database] = databases;
  if (!database) throw new Error('no database');
  agents = new Agents({
    database,
    tokens: new TokenIssuer(agentKind, { keys: keys.signing, issuer: 'longshore:test' }),
    resource: () => 'https://farm.example/mcp/agent',
  });
  const wanted = { name: 'Reviewer', owner: ada.id, kinds: ['review'], pool: 'default', labels: [], slots: 1 };
  const { id, secret } = await database.transaction((tx) => agents.create(tx, wanted));
  token = (await agents.exchange({ id, secret })).access_token;
  agent = await agents.principal(token);
});

/** What people do, by a controller of one's choice. */
const at = (n: number) => databases[n] ?? owner;
const set = (target: string, offered: boolean | null, n = 0) =>
  at(n).transaction((tx) => setExposure(tx, target, offered, ada.id, registry));
const grant = (target: string, n = 0) =>
  at(n).transaction((tx) => addGrant(tx, { agent: agent.id, target }, ada.id, registry));
const revoke = (target: string, n = 0) =>
  at(n).transaction((tx) => revokeGrant(tx, { agent: agent.id, target }, ada.id));
const disable = (n = 0) => at(n).transaction((tx) => agents.disable(tx, agent.id));

type Asked = Partial<GateCall> & { readonly name: string; readonly at?: number };

async function ask({ at: n = 0, ...given }: Asked): Promise<unknown> {
  const gate = gates[n];
  if (!gate) throw new Error('no gate');
  return await gate.call({
    door: 'mcp',
    principal: agent,
    input: { text: randomUUID() },
    signal: new AbortController().signal,
    ...given,
  });
}

const refusal = (given: Asked): Promise<FarmError> =>
  ask(given).then(
    () => {
      throw new Error('it was not refused');
    },
    (error) => error,
  );
const codeOf = (given: Asked) =>
  ask(given).then(
    () => 'ran',
    (error: FarmError) => error.code,
  );

/** What an agent does to have a mutation done: asks, reads the proposal, asks again with its token. */
async function confirmed(given: Asked): Promise<string> {
  const input = { text: 'a' };
  const { code, proposal } = await refusal({ ...given, input });
  if (code !== 'confirmation_required') return code;
  return codeOf({ ...given, input, confirmationToken: proposal?.confirmation_token ?? '' });
}

const things = async () => (await owner.all(written)).map(({ name }) => name);

describe('a call over MCP', () => {
  it('A4.1 A4.9 runs when it is offered and granted; what does not exist can not be granted', async () => {
    expect(await codeOf({ name: 'shelf_peek' })).toBe('not_available');
    await set('shelf_peek', true);
    expect(await codeOf({ name: 'shelf_peek' })).toBe('not_available');
    await grant('shelf_peek');
    expect(await codeOf({ name: 'shelf_peek' })).toBe('ran');
    for (const target of ['shelf_pek', 'plugin:post', 'job_claim'])
      await expect(grant(target)).rejects.toMatchObject({ code: 'unknown_operation' });
  });

  it('A3.12 A4.6 is judged by what is in force at its moment, at each of three controllers, with the token that it has', async () => {
    await set('shelf_peek', true, 0);
    await grant('shelf_peek', 1);
    const everywhere = () => Promise.all([0, 1, 2].map((n) => codeOf({ name: 'shelf_peek', at: n })));
    expect(await everywhere()).toEqual(['ran', 'ran', 'ran']);
    await revoke('shelf_peek', 2);
    expect(await everywhere()).toEqual(Array(3).fill('not_available'));
    await grant('shelf_peek', 0);
    expect(await everywhere()).toEqual(['ran', 'ran', 'ran']);
    await set('shelf_peek', false, 1);
    expect(await everywhere()).toEqual(Array(3).fill('not_available'));
    // Nothing of it rides in the token.
    expect(JSON.stringify(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()))).not.toContain(
      'shelf',
    );
  });

  it('A4.7 with a confirmation token is judged again: one that was granted before is worth nothing after', async () => {
    await set('shelf_put', true);
    await grant('shelf_put');
    const input = { text: 'a' };
    const { proposal } = await refusal({ name: 'shelf_put', input });
    await revoke('shelf_put');
    const again = { name: 'shelf_put', input, confirmationToken: proposal?.confirmation_token ?? '' };
    expect(await codeOf(again)).toBe('not_available');
    expect(await things()).toEqual([]);
  });

  it.each([
    ['the grant is revoked', () => revoke('shelf_put', 1)],
    ['it is taken off', () => set('shelf_put', false, 2)],
    ['the agent is disabled', () => disable(1)],
  ])(
    'A4.10 that changes something is undone when %s in its middle; one that reads may finish',
    async (_, meanwhile) => {
      for (const name of ['shelf_put', 'shelf_peek']) {
        await set(name, true);
        await grant(name);
      }
      shelf.meanwhile = meanwhile;
      expect(await codeOf({ name: 'shelf_peek' })).toBe('ran');
      await owner.run(statement('test.enable', 'update principal set disabled_at = null'));
      await set('shelf_put', true);
      await grant('shelf_put');
      expect(await confirmed({ name: 'shelf_put' })).toBe('not_available');
      expect(await things()).toEqual([]);
      expect(await owner.all(statement('test.audited', 'select * from audit'))).toEqual([]);
    },
  );

  it('A4.10 holds up a revoke until it has committed', async () => {
    await set('shelf_put', true);
    await grant('shelf_put');
    const order: string[] = [];
    let revoked: Promise<unknown> | undefined;
    await at(0).transaction(async (tx) => {
      await tx.run(statement('test.to_call', 'select pg_advisory_xact_lock_shared(7305012)'));
      revoked = revoke('shelf_put', 1).then(() => order.push('revoked'));
      await untilWaits();
      order.push('committed');
    });
    await revoked;
    expect(order).toEqual(['committed', 'revoked']);
  });

  it('A12.12 of an agent that is disabled is refused at once, whatever it asks; enabled it goes on as before', async () => {
    await set('shelf_peek', true);
    await grant('shelf_peek');
    await disable(2);
    for (const name of ['shelf_peek', 'job_claim', 'job_heartbeat'])
      expect(await codeOf({ name })).toBe('not_available');
    await at(1).transaction((tx) => agents.enable(tx, agent.id));
    for (const name of ['shelf_peek', 'job_claim']) expect(await codeOf({ name, at: 2 })).toBe('ran');
  });

  it('A4.4 of the job protocol is lowered like any other, for agents and for workers, and what runs can still be beaten', async () => {
    const atNode = { door: 'node' as const, principal: worker };
    const claims = () => Promise.all([codeOf({ name: 'job_claim' }), codeOf({ name: 'job_claim', ...atNode, at: 1 })]);
    expect(await claims()).toEqual(['ran', 'ran']);
    await set('job_claim', false, 2);
    expect(await claims()).toEqual(['not_available', 'not_available']);
    expect(await codeOf({ name: 'job_heartbeat', ...atNode, at: 1 })).toBe('ran');
    await set('job_claim', null, 2);
    expect(await claims()).toEqual(['ran', 'ran']);
  });
});

describe('what is hidden', () => {
  it('A5.1 A5.2 gets one answer, whether it is off, never, not granted, absent or no name at all', async () => {
    await set('mail.read_one', true);
    const names = [
      'shelf_peek',
      'shelf_rule',
      'mail.read_one',
      'no_such_thing',
      'post.send',
      '',
      'DROP TABLE',
      'x'.repeat(9_999),
    ];
    const answers = await Promise.all(names.map((name) => refusal({ name })));
    const said = answers.map(({ name: _, stack: __, ...rest }) => JSON.stringify(rest));
    expect(new Set(said).size).toBe(1);
    expect(answers[0]).toMatchObject({ code: 'not_available', detail: 'Not available', fields: undefined });
    expect(
      metrics[0]?.valueOf('longshore_gate_refusals_total', { door: 'mcp', step: 'exposure', code: 'not_available' }),
    ).toBe(names.length);
    expect(await owner.all(statement('test.audit', 'select * from audit'))).toEqual([]);
  });

  it('A5.5 is what is not listed: for each agent and operation one predicate', async () => {
    await set('shelf_peek', true);
    await set('plugin:mail', true);
    for (const target of ['shelf_peek', 'shelf_see', 'shelf_rule', 'plugin:mail']) await grant(target);
    const listed = (await gates[1]?.offeredTo({ door: 'mcp', principal: agent }))?.map(({ name }) => name) ?? [];
    expect(listed).toEqual(['job_claim', 'job_heartbeat', 'mail.read_one', 'mail.send_now', 'shelf_peek', 'shelf_see']);
    for (const { name } of operations)
      expect([name, (await codeOf({ name })) !== 'not_available']).toEqual([name, listed.includes(name)]);
  });
});

describe('a person sets what is offered', () => {
  it('A3.2 down without limit, up to the ceiling and no further', async () => {
    await expect(set('shelf_rule', true)).rejects.toMatchObject({ code: 'above_ceiling' });
    expect(await owner.all(statement('test.no_settings', 'select * from operation_settings'))).toEqual([]);
    expect(await set('shelf_see', false)).toMatchObject({ before: null, after: false, offered: [] });
    expect(await set('plugin:mail', true)).toMatchObject({ offered: ['mail.read_one', 'mail.send_now'] });
    await expect(set('plugin:post', true)).rejects.toMatchObject({ code: 'unknown_operation' });
  });

  it('A3.10 leaves a row and an entry of what was and what is, which no controller can change', async () => {
    await set('shelf_peek', true);
    await set('shelf_peek', true);
    await set('shelf_peek', null);
    const log = statement<object>(
      'test.log',
      'select kind, owner, target, before, after, changed_by from access_change order by seq',
    );
    const entry = { kind: 'exposure', owner: 'user', target: 'shelf_peek', changed_by: ada.id };
    expect(await owner.all(log)).toEqual([
      { ...entry, before: null, after: true },
      { ...entry, before: true, after: null },
    ]);
    await expect(at(0).run(statement('test.forge', 'update access_change set after = false'))).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('says what would be offered without doing it', async () => {
    const change = await at(0).reading((tx) => previewExposure(tx, 'shelf_peek', true, registry));
    expect(change).toEqual({ target: 'shelf_peek', before: null, after: true, offered: ['shelf_peek'] });
    expect(await codeOf({ name: 'shelf_peek' })).toBe('not_available');
  });
});

describe('workers, whose calls share transactions', () => {
  it('A3.12 are judged by what is in force when they commit, though nothing is read for each', async () => {
    const claim = (n: number) => codeOf({ name: 'job_claim', door: 'node', principal: worker, at: n });
    expect(await Promise.all([claim(1), claim(1), claim(1)])).toEqual(['ran', 'ran', 'ran']);
    await set('job_claim', false, 0);
    expect(await Promise.all([claim(1), claim(1)])).toEqual(['not_available', 'not_available']);
    expect(await things()).toHaveLength(3);
    await set('job_claim', null, 2);
    expect(await claim(1)).toBe('ran');
  });
});

/** Somebody waits for the lock of changes. */
async function untilWaits(): Promise<void> {
  const waiting = statement<{ n: number }>(
    'test.waiting',
    `select count(*) as n from pg_locks where locktype = 'advisory' and objid = 7305012 and not granted`,
  );
  for (let n = 0; n < 2_000; n += 1) {
    if (((await owner.first(waiting))?.n ?? 0) > 0) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('nobody waits');
}
