import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { contract } from '#contracts';
import { type Database, openDatabase, statement } from '#store';
import { aDatabase } from '../../../../test/support/database.js';
import { type Access, operationFor } from '../operation.js';
import { registryOf } from '../registry.js';
import { type AllowedFile, applyAllowed } from './allowed-rows.js';
import { listExposure, setExposure } from './set-exposure.js';

const operation = operationFor<object>();
const nothing = z.strictObject({});
const define = (name: string, access: Access, previews = true) =>
  operation(contract({ name, ...groupOf(access), summary: 'For a test.', input: nothing, output: nothing }), access, {
    run: async () => ({}),
    ...(previews && { preview: async () => ({ summary: '', changes: [] }) }),
  });

const groupOf = ({ plugin }: Access) => (plugin === undefined ? {} : { group: plugin });
const mutate: Access = { catalogue: 'operator', class: 'mutate', ceiling: 'off' };
const never: Access = { ...mutate, catalogue: 'admin', ceiling: 'never' };
const registry = registryOf([
  define('status', { ...mutate, class: 'read', ceiling: 'on' }),
  define('shelf_put', mutate),
  define('agent_revoke', never),
  define('exposure_set', never),
  define('shelf_purge', never, false),
  define('shelf_mail', { ...never, class: 'send' }),
  define('my_plugin.wipe', { ...mutate, plugin: 'my_plugin' }),
  define('my_plugin.ping', { ...mutate, plugin: 'my_plugin' }),
]);

let database: Database;
let owner: Database;
beforeAll(async () => {
  const copy = await aDatabase();
  database = openDatabase({ url: copy.appUrl, max: 4 });
  owner = openDatabase({ url: copy.ownerUrl, max: 1 });
});
afterAll(() => Promise.all([database.close(), owner.close()]));
beforeEach(() =>
  owner.run(statement('test.clear', 'truncate operation_settings, operation_lift, allowed_file, access_change')),
);

type Said = Partial<Pick<AllowedFile, 'allowed' | 'liftNever' | 'plugins' | 'generation'>>;

/** A controller starts with this file. */
const start = ({ allowed = {}, liftNever = [], plugins = ['my_plugin'], ...rest }: Said) =>
  applyAllowed(database, {
    allowed,
    liftNever,
    plugins,
    registry,
    configHash: JSON.stringify([allowed, liftNever]),
    ...rest,
  });

const offered = async () =>
  (await listExposure(database, registry)).operations
    .filter((view) => view.offered)
    .map(({ operation: { name } }) => name);
const whyOf = async (name: string) => (await listExposure(database, registry, name)).operations[0]?.why;
const byPerson = (target: string, on: boolean) =>
  database.transaction((tx) => setExposure(tx, target, on, 'p_aaaaaaaa', registry));

describe('[mcp.allowed]', () => {
  it('A3c.1 switches operations and whole plugins', async () => {
    expect(await start({ allowed: { shelf_put: true, my_plugin: true, 'my_plugin.wipe': false } })).toEqual([]);
    expect(await offered()).toEqual(['my_plugin.ping', 'shelf_put', 'status']);
    await start({ allowed: { my_plugin: false, 'my_plugin.ping': true } });
    expect(await offered()).toEqual(['status']);
  });

  it('A3c.2 owns its rows: a key that is gone takes its row with it', async () => {
    await start({ allowed: { status: false, shelf_put: true } });
    expect(await offered()).toEqual(['shelf_put']);
    await start({ allowed: { shelf_put: true } });
    expect(await offered()).toEqual(['shelf_put', 'status']);
    await start({});
    expect(await offered()).toEqual(['status']);
  });

  it("A3.4 leaves a person's lowering over a restart, and the list says why", async () => {
    await start({ allowed: { status: true } });
    await byPerson('status', false);
    await start({ allowed: { status: true } });
    expect(await offered()).toEqual([]);
    expect(await whyOf('status')).toBe('user has status off; off outweighs on');
    expect(await whyOf('shelf_put')).toBe('off until it is turned on');
    expect(await whyOf('agent_revoke')).toBe('never offered over MCP');
    await start({});
    expect(await offered()).toEqual([]);
  });

  it('A3c.3 warns of names that are not there and of what is never offered, and applies the rest', async () => {
    const warnings = await start({ allowed: { staus: true, agent_revoke: true, shelf_put: true } });
    expect(warnings).toEqual([
      '[mcp.allowed] staus: there is no such operation or plugin',
      '[mcp.allowed] agent_revoke: never offered over MCP, whatever is set',
    ]);
    expect(await offered()).toEqual(['shelf_put', 'status']);
  });

  it('A3c.6 knows the keys of a plugin that is installed and down', async () => {
    expect(await start({ allowed: { sleeper: true, 'sleeper.wake': false }, plugins: ['sleeper'] })).toEqual([]);
    expect(await start({ allowed: { sleeper: true, 'sleeper.wake': false }, plugins: [] })).toHaveLength(2);
  });

  it('A3.10 logs each change that a start makes, and nothing where nothing changes', async () => {
    await start({ allowed: { status: false }, liftNever: ['agent_revoke'] });
    await start({ allowed: { status: false }, liftNever: ['agent_revoke'] });
    await start({});
    const log = statement<object>(
      'test.log',
      'select kind, target, before, after from access_change where owner = $owner order by seq',
    );
    expect(await owner.all(log, { owner: 'config' })).toEqual([
      { kind: 'exposure', target: 'status', before: null, after: false },
      { kind: 'lift', target: 'agent_revoke', before: null, after: true },
      { kind: 'exposure', target: 'status', before: false, after: null },
      { kind: 'lift', target: 'agent_revoke', before: true, after: null },
    ]);
  });
});

describe('lift_never', () => {
  it('A3.5 A3.6 makes off of never, and a switch beside it in the same file holds', async () => {
    expect(await start({ liftNever: ['agent_revoke'] })).toEqual([]);
    expect(await offered()).toEqual(['status']);
    expect(await start({ liftNever: ['agent_revoke'], allowed: { agent_revoke: true } })).toEqual([]);
    expect(await offered()).toEqual(['agent_revoke', 'status']);
    await start({ allowed: { agent_revoke: true } });
    expect(await offered()).toEqual(['status']);
  });

  it('A3.7 lifts no send, no mutation that can not say what it would do, and not the switch of exposure', async () => {
    const names = ['shelf_mail', 'shelf_purge', 'exposure_set', 'no_such_thing'];
    const warnings = await start({
      liftNever: names,
      allowed: Object.fromEntries(names.slice(0, 3).map((name) => [name, true])),
    });
    expect(warnings).toHaveLength(7);
    for (const [n, name] of names.entries()) expect(warnings[n]).toContain(name);
    expect(await offered()).toEqual(['status']);
    // Neither does a row that somebody wrote by hand.
    await owner.run(statement('test.lift', `insert into operation_lift values ('exposure_set')`));
    await owner.run(
      statement(
        'test.raise',
        `insert into operation_settings (target, owner, offered) values ('exposure_set', 'user', true)`,
      ),
    );
    expect(await offered()).toEqual(['status']);
  });
});

describe('several controllers', () => {
  it('A3c.7 keep the rows of the newest file: an older one that starts again is told so and writes nothing', async () => {
    const old = { allowed: { shelf_put: true }, generation: 1 };
    const young = { allowed: { status: false }, generation: 2 };
    await start(old);
    await start(young);
    expect(await start(old)).toEqual([
      '[mcp.allowed] and lift_never of this file are not applied: it is generation 1, and generation 2 is in force',
    ]);
    expect(await offered()).toEqual([]);
    expect(await start({ ...young, allowed: {} })).toEqual([
      'generation 2 was applied with another content before: raise it with each change',
    ]);
  });

  it('A3c.7 that start together apply one after the other, and one file is in force', async () => {
    const files = Array.from({ length: 6 }, (_, n) => ({
      allowed: { shelf_put: n % 2 === 0, status: n % 2 === 0 },
      liftNever: n % 2 === 0 ? ['agent_revoke'] : [],
      generation: n,
    }));
    await Promise.all([...files].reverse().map(start));
    expect(await offered()).toEqual([]);
    expect(await owner.all(statement('test.generation', 'select generation from allowed_file'))).toEqual([
      { generation: 5 },
    ]);
  });
});
