import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, openDatabase, type Queries, statement } from '#store';
import { aDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { openFarmKeys } from '../keys/farm-keys.js';
import { auditSql } from '../sql/audit.js';
import { gateSql } from '../sql/gate.js';
import { AuditLog } from './audit-log.js';

let copy: TestDatabase;
let database: Database;
let owner: Database;
let folder: string;
let log: AuditLog;
let statements = 0;

beforeAll(async () => {
  copy = await aDatabase();
  database = openDatabase({ url: copy.appUrl, max: 8 });
  owner = openDatabase({ url: copy.ownerUrl, max: 1 });
});
afterAll(async () => {
  await database.close();
  await owner.close();
});

beforeEach(async () => {
  await byHand('truncate audit, audit_seal, audit_unsealed restart identity');
  folder = tempDir('keys');
  log = await aLog(database, folder);
});

async function aLog(over: Database, keysFolder: string): Promise<AuditLog> {
  const { audit: key } = await openFarmKeys(keysFolder);
  return new AuditLog({ database: over, key, folder: keysFolder });
}

/** A statement that is run once. */
function unnamed(text: string) {
  statements += 1;
  return statement(`test.${statements}`, text);
}

/** What nobody but the owner of the database can do. */
const byHand = (text: string) => owner.run(unnamed(text));

/** Rows as calls leave them. */
async function call(queries: Queries, ...operations: readonly string[]): Promise<void> {
  const all = <T>(value: T) => operations.map(() => value);
  await queries.run(gateSql.audit, {
    hash_key_id: 'k',
    kinds: operations.map((name) => `call:${name}`),
    doors: all('cli'),
    classes: all('user'),
    actors: all('p_aaaaaaaa'),
    agents: all(null),
    hashes: all(Buffer.from('hash')),
    outcomes: all('ok'),
    jobs: all(null),
    epochs: all(null),
    counts: all(1),
  });
}

const five = ['a_one', 'a_two', 'a_three', 'a_four', 'a_five'] as const;

async function verify(with_ = log) {
  const { faults, ...rest } = await with_.verify(database, await with_.head(), 0);
  return { ...rest, faults: faults.map(({ kind, seq, seal }) => ({ kind, seq, seal })) };
}

describe('the seals of the audit', () => {
  it('H43 finds nothing wrong with what was sealed, and says what waits', async () => {
    await call(database, ...five);
    expect(await verify()).toEqual({ checked: 0, faults: [], waiting: 5, next: null });
    expect(await log.seal()).toBe(5);
    await call(database, 'a_six');
    expect(await verify()).toEqual({ checked: 5, faults: [], waiting: 1, next: null });
  });

  const columns = [
    `at = at + interval '1 microsecond'`,
    `kind = 'call:other'`,
    `door = 'ui'`,
    `class = 'agent'`,
    `actor = 'p_bbbbbbbb'`,
    `agent_id = 'a_bbbbbbbb'`,
    `input_hash = '\\x00'`,
    `hash_key_id = 'l'`,
    `outcome = 'error:conflict'`,
    `job_id = '00000000-0000-4000-8000-000000000001'`,
    `epoch = 1`,
    `calls = 2`,
  ];
  it.each(columns)('H43 names the row in which somebody wrote %s', async (change) => {
    await call(database, ...five);
    await log.seal();
    await byHand(`update audit set ${change} where seq = 3`);
    expect((await verify()).faults).toEqual([{ kind: 'altered', seq: 3, seal: 3 }]);
  });

  it('H43 names rows that were removed, with and without their seals', async () => {
    await call(database, ...five);
    await log.seal();
    await byHand('delete from audit where seq = 2');
    expect((await verify()).faults).toEqual([{ kind: 'removed', seq: 2, seal: 2 }]);
    await byHand('delete from audit_seal where n = 2');
    expect((await verify()).faults).toEqual([{ kind: 'seal_removed', seq: null, seal: 2 }]);
  });

  it('H43 sees that seals were numbered anew over a gap', async () => {
    await call(database, ...five);
    await log.seal();
    await byHand('delete from audit where seq = 2');
    await byHand('delete from audit_seal where n = 2');
    await byHand('update audit_seal set n = n - 1 where n = 3');
    await byHand('update audit_seal set n = n - 1 where n = 4');
    await byHand('update audit_seal set n = n - 1 where n = 5');
    expect((await verify()).faults).toContainEqual({ kind: 'altered', seq: 3, seal: 2 });
  });

  it('H43 misses the last row, also when its seal went with it', async () => {
    await call(database, ...five);
    await log.seal();
    await byHand('delete from audit where seq = 5');
    expect((await verify()).faults).toEqual([{ kind: 'removed', seq: 5, seal: 5 }]);
    await byHand('delete from audit_seal where n = 5');
    expect((await verify()).faults).toEqual([{ kind: 'cut_off', seq: null, seal: 5 }]);
  });

  it('H43 keeps the loss of an end in the chain, and does not forget it when the chain goes on', async () => {
    await call(database, ...five);
    await log.seal();
    await byHand('delete from audit where seq > 3');
    await byHand('delete from audit_seal where n > 3');
    await log.seal();
    expect((await verify()).faults).toEqual([{ kind: 'cut_off', seq: null, seal: 4 }]);
    await call(database, 'b_one', 'b_two', 'b_three');
    await log.seal();
    expect(await log.head()).toMatchObject({ n: 6 });
    expect((await verify()).faults).toEqual([{ kind: 'cut_off', seq: null, seal: 4 }]);
    await byHand('update audit_seal set lost = null where n = 4');
    expect((await verify()).faults).toEqual([{ kind: 'altered', seq: 6, seal: 4 }]);
  });

  it('H43 goes on behind a seal as if it had come from the start', async () => {
    await call(database, ...five);
    await log.seal();
    await byHand('update audit set calls = 9 where seq in (2, 4)');
    const { checked, faults } = await log.verify(database, await log.head(), 3);
    expect([checked, faults.map(({ seq }) => seq)]).toEqual([2, [4]]);
  });

  it('H43 names what was removed before its seal, and what was kept from it', async () => {
    await call(database, ...five);
    await byHand('delete from audit where seq = 2');
    await byHand('delete from audit_unsealed where seq = 4');
    await log.seal();
    expect((await verify()).faults).toEqual([
      { kind: 'removed', seq: 2, seal: null },
      { kind: 'never_sealed', seq: 4, seal: null },
    ]);
  });

  it('H43 seals nothing with another key than the chain has, and says which file is missing', async () => {
    await call(database, 'a_one');
    await log.seal();
    await call(database, 'a_two');
    const other = await aLog(database, tempDir('keys'));
    await expect(other.seal()).rejects.toMatchObject({ code: 'misconfigured' });
    await expect(verify(other)).rejects.toMatchObject({ code: 'misconfigured' });
    expect(await log.seal()).toBe(1);
  });

  it('keeps the key outside the database, for its owner alone', async () => {
    await call(database, 'a_one');
    await log.seal();
    const { key } = JSON.parse(await readFile(join(folder, 'audit.json'), 'utf8'));
    const rows = await owner.all(
      statement<{ row: string }>('test.seals', 'select audit_seal::text as row from audit_seal'),
    );
    expect(rows.map(({ row }) => row).join()).not.toContain(Buffer.from(key, 'base64url').toString('hex'));
  });

  it('H43 seals a row that commits late, after rows with higher numbers', async () => {
    const { promise: free, resolve: commit } = Promise.withResolvers<void>();
    const { promise: written, resolve: wrote } = Promise.withResolvers<void>();
    const late = database.transaction(async (tx) => {
      await call(tx, 'a_late');
      wrote();
      await free;
    });
    await written;
    await call(database, 'a_early');
    expect(await log.seal()).toBe(1);
    commit();
    await late;
    expect(await log.seal()).toBe(1);
    expect(await verify()).toEqual({ checked: 2, faults: [], waiting: 0, next: null });
    expect(await owner.all(statement('test.order', 'select n, seq from audit_seal order by n'))).toEqual([
      { n: 1, seq: 2 },
      { n: 2, seq: 1 },
    ]);
  });

  it('H43 seals by reading only what waits, however long the audit has become', async () => {
    await byHand(
      `insert into audit (kind, door, class, outcome) select 'call:a_old', 'node', 'worker', 'ok' from generate_series(1, 20000)`,
    );
    // As after a burst: all of it waited when it was looked at last.
    await byHand('analyze audit, audit_unsealed');
    await byHand('delete from audit_unsealed');
    const plan = await owner.all({ ...unnamed(`explain (generic_plan) ${auditSql.unsealed.text}`), name: '' });
    expect(JSON.stringify(plan)).not.toMatch(/Merge Join|Hash Join|Seq Scan on audit[ "]/);
  });

  it('H43 has one leader at a time: three controllers at load make one chain, with each row once', async () => {
    const others = await Promise.all(
      [1, 2, 3].map(async () => {
        const own = openDatabase({ url: copy.appUrl, max: 4 });
        return { own, log: await aLog(own, folder) };
      }),
    );
    let writing = true;
    const sealing = others.map(async (controller) => {
      while (writing) await controller.log.seal();
    });
    const writers = others.flatMap(({ own }) =>
      [1, 2, 3].map(async (writer) => {
        for (let n = 0; n < 40; n += 1)
          await own
            .transaction(async (tx) => {
              await call(tx, ...five.slice(0, (n % 4) + 1));
              if (n % 3 === writer % 3) await call(tx, 'a_more');
              if (n % 10 === 9) throw new Error('undone');
            })
            .catch(() => undefined);
      }),
    );
    await Promise.all(writers);
    writing = false;
    await Promise.all(sealing);
    await log.seal();
    const [{ rows } = { rows: 0 }] = await owner.all(
      statement<{ rows: number }>('test.rows', 'select count(*) as rows from audit'),
    );
    expect(rows).toBe(900);
    expect(await verify()).toEqual({ checked: rows, faults: [], waiting: 0, next: null });
    await Promise.all(others.map(({ own }) => own.close()));
  });

  it('A13.1 lets no controller change or remove a row or a seal', async () => {
    await call(database, 'a_one');
    await log.seal();
    for (const [table, column] of [
      ['audit', 'outcome'],
      ['audit_seal', 'key_id'],
    ] as const) {
      for (const text of [`update ${table} set ${column} = 'x'`, `delete from ${table}`, `truncate ${table}`]) {
        await expect(database.run(unnamed(text))).rejects.toMatchObject({ code: '42501' });
      }
    }
  });
});

describe('the list of the audit', () => {
  const names = async (filter: object, limit = 10) => {
    const { rows, next_cursor } = await log.list(database, { limit, ...filter });
    return { names: rows.map(({ kind }) => kind), next_cursor };
  };

  it('goes back page by page, without a row twice or left out', async () => {
    await call(database, ...five);
    const first = await names({}, 2);
    expect(first).toEqual({ names: ['call:a_five', 'call:a_four'], next_cursor: '4' });
    await call(database, 'a_six');
    const second = await names({ cursor: first.next_cursor }, 2);
    expect(second.names).toEqual(['call:a_three', 'call:a_two']);
    expect(await names({ cursor: second.next_cursor }, 2)).toEqual({ names: ['call:a_one'], next_cursor: null });
  });

  it('keeps to each filter', async () => {
    await call(database, ...five);
    await byHand(`update audit set actor = 'p_bbbbbbbb', at = '2020-01-01Z' where seq = 1`);
    await byHand(`update audit set agent_id = 'w_aaaaaaaa', door = 'node' where seq = 2`);
    await byHand(
      `update audit set outcome = 'error:conflict', job_id = '00000000-0000-4000-8000-000000000001' where seq = 3`,
    );
    await byHand(`update audit set outcome = 'cancelled' where seq = 4`);
    await byHand(
      `insert into principal (id, kind, name, role) values ('p_bbbbbbbb', 'person', 'ada', 'viewer'), ('w_aaaaaaaa', 'worker', 'north', null)`,
    );
    const found = async (filter: object) => (await names(filter)).names.map((name) => name.replace('call:a_', ''));
    expect(await found({ actor: 'p_bbbbbbbb' })).toEqual(['one']);
    expect(await found({ actor: 'ada' })).toEqual(['one']);
    expect(await found({ agent: 'north' })).toEqual(['two']);
    expect(await found({ actor: 'p_gone1234' })).toEqual([]);
    await byHand(`update audit set actor = 'request-link' where seq = 5`);
    expect(await found({ actor: 'request-link' })).toEqual(['five']);
    await expect(found({ actor: 'adam' })).rejects.toMatchObject({ code: 'not_found' });
    expect((await log.list(database, { limit: 9, actor: 'ada' })).rows).toMatchObject([{ actor_name: 'ada' }]);
    expect(await found({ until: '2020-01-01T00:00:00Z' })).toEqual([]);
    expect(await found({ until: '2020-01-01T00:00:01Z' })).toEqual(['one']);
    expect(await found({ since: '2020-01-01T01:00:00+01:00', operation: 'a_one' })).toEqual(['one']);
    expect(await found({ since: '2021-01-01T00:00:00Z' })).toEqual(['five', 'four', 'three', 'two']);
    expect(await found({ agent: 'w_aaaaaaaa' })).toEqual(['two']);
    expect(await found({ door: 'node' })).toEqual(['two']);
    expect(await found({ operation: 'a_five' })).toEqual(['five']);
    expect(await found({ outcome: 'error' })).toEqual(['three']);
    expect(await found({ outcome: 'error:conflict' })).toEqual(['three']);
    expect(await found({ outcome: 'cancelled' })).toEqual(['four']);
    expect(await found({ job: '00000000-0000-4000-8000-000000000001' })).toEqual(['three']);
  });
});
