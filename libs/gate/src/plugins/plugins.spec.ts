import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isOutsideText, type Proposal } from '#contracts';
import { type Database, openDatabase, statement } from '#store';
import { anAssistantOf, aPerson } from '../../../../test/support/consenting-gates.js';
import { aDatabase } from '../../../../test/support/database.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { type Gate, type GateCall, openGate } from '../gate.js';
import { openFarmKeys } from '../keys/farm-keys.js';
import { Metrics } from '../metrics.js';
import { accessSql } from '../sql/access.js';
import { LiveRegistry } from './live-registry.js';
import { PluginManifest } from './manifest.js';
import { type PluginAsk, pluginOperations } from './plugin-operations.js';

const input = {
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
  additionalProperties: false,
};
const output = {
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
  additionalProperties: false,
};
const read = { name: 'peek', summary: 'Look.', class: 'read', input, output };
const put = { name: 'put', summary: 'Put.', class: 'mutate', preview: true, input, output };
const manifestOf = (...operations: object[]) => PluginManifest.parse({ protocol: 1, version: '1', operations });

let database: Database;
let owner: Database;
let registry: LiveRegistry<object>;
let gate: Gate<object>;
/** What the plugin was asked to do. */
const asked: string[] = [];
let before = 1;
const port = {
  run: async ({ operation, input: given, caller }: PluginAsk) => {
    asked.push(`${operation} for ${caller}`);
    return given;
  },
  preview: async () => ({ summary: 'puts it', changes: [{ id: 'x', before, after: 2 }] }),
};
const operationsOf = (...entries: object[]) => pluginOperations<object>('notes', manifestOf(...entries), port);

beforeAll(async () => {
  const copy = await aDatabase();
  database = openDatabase({ url: copy.appUrl, max: 4 });
  owner = openDatabase({ url: copy.ownerUrl, max: 1 });
  const { inputs } = await openFarmKeys(tempDir('keys'));
  registry = new LiveRegistry<object>([]);
  gate = openGate({ registry, services: {}, database, inputs, metrics: new Metrics() });
});
afterAll(async () => {
  await database.close();
  await owner.close();
});
beforeEach(async () => {
  await owner.run(
    statement('test.clear', 'truncate audit, audit_unsealed, audit_seal, receipt, ticket, operation_settings'),
  );
  registry.add('notes', operationsOf(read, put));
  asked.length = 0;
  before = 1;
});

const call = (name: string, more: Partial<GateCall> = {}) =>
  gate.call({
    door: 'cli',
    principal: aPerson('p_aaaaaaaa'),
    name,
    input: { text: 'a' },
    signal: new AbortController().signal,
    ...more,
  });
const refusal = (name: string, more: Partial<GateCall> = {}) =>
  call(name, more).then(
    () => ({ code: 'ran', proposal: undefined }),
    (error: { code: string; proposal?: Proposal }) => error,
  );
const assistant = anAssistantOf('p_aaaaaaaa');
const offer = (target: string) =>
  database.run(accessSql.putSetting, { target, owner: 'user', offered: true, by: 'test' });
const outcomes = async () =>
  (await database.all(statement<{ outcome: string }>('test.outcomes', 'select outcome from audit order by seq'))).map(
    ({ outcome }) => outcome,
  );

describe('operations of a plugin', () => {
  it('A11.2 are offered to no agent before somebody turns them on, one by one or together', async () => {
    expect(await gate.offeredTo(assistant)).toEqual([]);
    expect(await refusal('notes.peek', assistant)).toMatchObject({ code: 'not_available' });
    await offer('notes.peek');
    expect(await call('notes.peek', assistant)).toEqual({ text: 'a' });
    expect(await refusal('notes.put', assistant)).toMatchObject({ code: 'not_available' });
    await offer('plugin:notes');
    expect((await gate.offeredTo(assistant)).map(({ name }) => name)).toEqual(['notes.peek', 'notes.put']);
    expect((await gate.offeredTo({ door: 'cli', principal: aPerson('p_aaaaaaaa') })).length).toBe(2);
  });

  it('A11.1 are proposed to an agent first, and done once with its token', async () => {
    await offer('plugin:notes');
    const { code, proposal } = await refusal('notes.put', assistant);
    expect([code, proposal?.count, proposal?.summary]).toEqual([
      'confirmation_required',
      1,
      'The plugin notes says: puts it',
    ]);
    expect([asked, await outcomes()]).toEqual([[], []]);
    const confirmationToken = proposal?.confirmation_token ?? '';
    expect(await call('notes.put', { ...assistant, confirmationToken })).toEqual({ text: 'a' });
    expect(await refusal('notes.put', { ...assistant, confirmationToken })).toMatchObject({ code: 'already_done' });
    expect([asked, await outcomes()]).toEqual([['put for agent'], ['intent', 'ok']]);
  });

  it('A6.16 are not done when the world has moved since the proposal', async () => {
    await offer('plugin:notes');
    const { proposal } = await refusal('notes.put', assistant);
    before = 7;
    const confirmationToken = proposal?.confirmation_token ?? '';
    expect(await refusal('notes.put', { ...assistant, confirmationToken })).toMatchObject({
      code: 'changed_since_proposal',
    });
    expect([asked, await outcomes()]).toEqual([[], []]);
  });

  it('A7.8 are announced before they are done, or not done', async () => {
    await owner.run(statement('test.lock', 'revoke insert on audit from longshore_app'));
    try {
      expect(await refusal('notes.put', { confirm: true })).toMatchObject({ code: 'internal' });
      expect(asked).toEqual([]);
    } finally {
      await owner.run(statement('test.unlock', 'grant insert on audit to longshore_app'));
    }
  });

  it('A11.6 come and go with the plugin', async () => {
    expect(await call('notes.peek')).toEqual({ text: 'a' });
    registry.remove('notes');
    expect([await refusal('notes.peek'), registry.all]).toMatchObject([{ code: 'not_available' }, []]);
    registry.add('notes', operationsOf(read));
    expect(registry.all.map(({ name }) => name)).toEqual(['notes.peek']);
    expect(await call('notes.peek')).toEqual({ text: 'a' });
  });

  it('A11.7 answer text from outside', () => {
    for (const { contract } of operationsOf(read, put)) expect(isOutsideText(contract.output)).toBe(true);
  });

  it('A2.5 A2.4 are refused whole where one breaks a rule, and those of others stay', () => {
    const wrong: readonly (readonly [object, string])[] = [
      [{ ...read, ceiling: 'on' }, 'plugin_on_by_default'],
      [{ ...put, preview: false }, 'mutate_without_preview'],
      [{ ...read, input: { ...input, additionalProperties: true } }, 'input_not_strict'],
      [{ ...read, input: { ...input, properties: { confirm: { type: 'boolean' } } } }, 'reserved_field'],
      [{ ...read, output: { type: 'string', pattern: '(a+)+$' } }, 'unrepresentable_schema'],
      [{ ...read, output: { patternProperties: { a: {} } } }, 'unrepresentable_schema'],
    ];
    for (const [entry, fault] of wrong) expect(() => operationsOf(entry)).toThrow(fault);
    const twice = pluginOperations<object>('notes', manifestOf(read, { ...read }), port);
    expect(() => registry.add('other', twice)).toThrow('name_taken');
    expect(registry.all).toHaveLength(2);
  });

  it('keeps what a schema says: bounds, defaults, formats', () => {
    const schema = {
      type: 'object',
      properties: {
        n: { type: 'integer', minimum: 1, default: 3 },
        at: { type: 'string', format: 'date-time', pattern: '(a+)+$' },
      },
      additionalProperties: false,
    };
    const [operation] = operationsOf({ ...read, input: schema });
    const readOf = (given: object) => operation?.readInput(given);
    expect(readOf({})).toMatchObject({ ok: true, read: { value: { n: 3 } } });
    expect(readOf({ n: 0 })).toMatchObject({ ok: false });
    expect(readOf({ at: 'yesterday' })).toMatchObject({ ok: false });
    expect(operation?.inputSchema).toMatchObject({ additionalProperties: false, properties: { n: { default: 3 } } });
  });
});
