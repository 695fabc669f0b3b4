import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aDatabase } from '../../../test/support/database.js';
import { type Database, openDatabase, type Transaction } from './database.js';
import { statement } from './statement.js';

const sql = {
  endOthers: statement<unknown>(
    'spec.end_others',
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  ),
  create: statement<unknown>('spec.create', 'create table note (id integer primary key, text text not null)'),
  add: statement<unknown>('spec.add', 'insert into note (id, text) values ($id, $text)'),
  clear: statement<unknown>('spec.clear', 'delete from note where id >= $from'),
  count: statement<{ count: number }>('spec.count', 'select count(*) from note where id >= $from'),
};

let database: Database;
const countFrom = async (from: number) => (await database.first(sql.count, { from }))?.count;

beforeAll(async () => {
  database = openDatabase({ url: (await aDatabase()).ownerUrl });
  await database.run(sql.create);
});
afterAll(() => database.close());

describe('a transaction', () => {
  it('keeps all that it wrote, or nothing of it', async () => {
    await database.transaction(async (tx) => {
      await tx.run(sql.add, { id: 1, text: 'a' });
    });
    const failing = database.transaction(async (tx) => {
      await tx.run(sql.add, { id: 2, text: 'b' });
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect(await countFrom(1)).toBe(1);
  });

  it('fails whole when a statement that was sent for later fails', async () => {
    const failing = database.transaction(async (tx) => {
      await tx.run(sql.add, { id: 10, text: 'a' });
      tx.later(sql.add, { id: 10, text: 'the key is taken' });
    });
    await expect(failing).rejects.toThrow('duplicate key');
    expect(await countFrom(10)).toBe(0);
  });

  it('says what failed first, not that the rest was aborted', async () => {
    const failing = database.transaction(async (tx) => {
      await tx.run(sql.add, { id: 15, text: 'a' });
      tx.later(sql.add, { id: 15, text: 'the key is taken' });
      await tx.run(sql.add, { id: 16, text: 'too late' });
    });
    await expect(failing).rejects.toThrow('duplicate key');
  });

  it('does not claim a commit when its work swallowed the failure of a statement', async () => {
    const failing = database.transaction(async (tx) => {
      await tx.run(sql.add, { id: 20, text: 'a' });
      await tx.run(sql.add, { id: 20, text: 'the key is taken' }).catch(() => 0);
    });
    await expect(failing).rejects.toThrow('rolled back');
    expect(await countFrom(20)).toBe(0);
  });

  it('rings after the commit and not without one', async () => {
    const rings: string[] = [];
    await database.transaction(async (tx) => {
      tx.afterCommit(() => rings.push('kept'));
      await tx.run(sql.add, { id: 30, text: 'a' });
      expect(rings).toEqual([]);
    });
    const failing = database.transaction(async (tx) => {
      tx.afterCommit(() => rings.push('lost'));
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(rings).toEqual(['kept']);
  });

  it('has committed what it wrote, whatever one of its rings throws, and rings the others', async () => {
    const rings: string[] = [];
    await database.transaction(async (tx) => {
      tx.afterCommit(() => {
        throw new Error('lost');
      });
      tx.afterCommit(() => rings.push('kept'));
      tx.afterFailure(() => rings.push('failed'));
      await tx.run(sql.add, { id: 35, text: 'a' });
    });
    expect(await countFrom(35)).toBe(1);
    expect(rings).toEqual(['kept']);
  });

  it('can not write when it is for reading', async () => {
    const writing = database.reading((tx) => tx.run(sql.add, { id: 40, text: 'a' }));
    await expect(writing).rejects.toMatchObject({ code: '25006' });
  });

  it('fails, and not the process with it, when the server ends its connection; the next one works', async () => {
    const failing = database.transaction(async (tx) => {
      await tx.run(sql.add, { id: 60, text: 'a' });
      await database.run(sql.endOthers);
      await tx.run(sql.add, { id: 61, text: 'b' });
    });
    await expect(failing).rejects.toThrow();
    expect(await countFrom(60)).toBe(0);
  });

  it('says which parameter is missing before anything is sent', async () => {
    await expect(database.run(sql.add, { id: 50 })).rejects.toThrow('no value for $text');
  });

  it('runs its last acts when all else is done, and is undone by one that throws', async () => {
    const counted = await database.transaction(async (tx) => {
      const counts: (number | undefined)[] = [];
      tx.beforeCommit(async () => void counts.push((await tx.first(sql.count, { from: 70 }))?.count));
      tx.later(sql.add, { id: 70, text: 'a' });
      return counts;
    });
    expect(counted).toEqual([1]);
    const failing = database.transaction(async (tx) => {
      await tx.run(sql.add, { id: 71, text: 'a' });
      tx.beforeCommit(() => Promise.reject(new Error('not so')));
    });
    await expect(failing).rejects.toThrow('not so');
    expect(await countFrom(70)).toBe(1);
  });

  it.each([
    ['its work throws', (): Promise<unknown> => Promise.reject(new Error('no'))],
    ['its connection ends', () => database.run(sql.endOthers)],
  ])('says that it failed, once nothing of it can come any more, when %s', async (_, fail) => {
    const told: string[] = [];
    const failing = database.transaction(async (tx) => {
      tx.afterFailure(() => {
        throw new Error('lost');
      });
      tx.afterFailure(() => told.push('failed'));
      tx.afterCommit(() => told.push('kept'));
      await tx.run(sql.add, { id: 80, text: 'a' });
      await fail();
      expect(told).toEqual([]);
    });
    await expect(failing).rejects.toThrow();
    expect(told).toEqual(['failed']);
    expect(await countFrom(80)).toBe(0);
  });

  it.each([
    ['throws', (): Promise<unknown> => Promise.reject(new Error('no'))],
    ['has a statement that fails', (tx: Transaction) => tx.run(sql.add, { id: 90, text: 'the key is taken' })],
  ])('H13 keeps all but an attempt that %s, which rings nobody', async (_, fail) => {
    await database.run(sql.clear, { from: 90 });
    const rings: string[] = [];
    const answers = await database.transaction(async (tx) => {
      tx.afterCommit(() => rings.push('kept'));
      await tx.run(sql.add, { id: 90, text: 'a' });
      const good = await tx.attempt(() => tx.run(sql.add, { id: 91, text: 'b' }));
      const bad = await tx.attempt(async () => {
        tx.afterCommit(() => rings.push('lost'));
        tx.later(sql.add, { id: 92, text: 'c' });
        await fail(tx);
        return 1;
      });
      tx.later(sql.add, { id: 93, text: 'd' });
      return [good, bad];
    });
    expect(answers).toEqual([1, undefined]);
    expect(await countFrom(90)).toBe(3);
    expect(await countFrom(92)).toBe(1);
    expect(rings).toEqual(['kept']);
  });
});
