import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { aDatabase } from '../../../test/support/database.js';
import { type Migration, migrate } from './migrate.js';

const first: Migration = { order: 9001, name: 'spec-first', up: 'create table spec_first (id integer)' };
const second: Migration = {
  order: 9002,
  name: 'spec-second',
  up: 'create table spec_second (id integer); grant select on spec_second to {{app}}',
};

/** A database without any schema of ours: the template has one, so its record is cleared. */
async function anEmptyRecord(): Promise<{ ownerUrl: string; appUrl: string }> {
  const database = await aDatabase();
  const client = new pg.Client(database.ownerUrl);
  await client.connect();
  await client.query('delete from migration');
  await client.end();
  return database;
}

const options = { appRole: 'longshore_app' };

describe('migrations', () => {
  it('run once, in order, also when several controllers start together', async () => {
    const { ownerUrl, appUrl } = await anEmptyRecord();
    const runs = await Promise.all(
      Array.from({ length: 3 }, () => migrate({ ...options, ownerUrl, migrations: [second, first] })),
    );
    expect(runs.flat().map((name) => name.replace(/\d{13}$/, ''))).toEqual(['spec-first', 'spec-second']);
    const client = new pg.Client(appUrl);
    await client.connect();
    await expect(client.query('select * from spec_second')).resolves.toMatchObject({ rowCount: 0 });
    await expect(client.query('select * from spec_first')).rejects.toMatchObject({ code: '42501' });
    await client.end();
  });

  it('refuse a database that a newer version has migrated, and change nothing', async () => {
    const { ownerUrl } = await anEmptyRecord();
    await migrate({ ...options, ownerUrl, migrations: [first, second] });
    await expect(migrate({ ...options, ownerUrl, migrations: [first] })).rejects.toMatchObject({
      code: 'data_version',
    });
  });
});
