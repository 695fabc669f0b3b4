import { randomBytes } from 'node:crypto';
import { appRole } from '../../apps/cli/src/services/postgres.js';
import { serviceSql } from '../../apps/cli/src/services/sql.js';
import { type TestRun, withClient } from './test-run.js';

/** Makes the database that `aDatabase()` copies: migrated once, closed to connections. */
export async function makeTemplate(ownerUrl: string, folder: string): Promise<TestRun> {
  const prefix = `test_${randomBytes(4).toString('hex')}`;
  const run: TestRun = {
    folder,
    ownerUrl,
    appPassword: randomBytes(18).toString('base64url'),
    prefix,
    template: `${prefix}_template`,
  };
  await withClient(ownerUrl, async (client) => {
    const role = await client.query(serviceSql.hasRole, [appRole]);
    const statement = role.rowCount === 0 ? serviceSql.createRole : serviceSql.setPassword;
    await client.query(statement(appRole, run.appPassword));
    await client.query(`create database ${run.template}`);
  });
  // A migration that does not run fails the tests that need a database, not those that need none.
  const failure = await migrateTemplate(urlOfDatabase(ownerUrl, run.template)).catch(
    (error: unknown) => `The test database can not be migrated: ${String(error)}`,
  );
  await withClient(ownerUrl, (client) => client.query(`alter database ${run.template} allow_connections false`));
  return failure === undefined ? run : { ...run, failure };
}

/** Drops what this run has made; needed only on a server that outlives the run. */
export async function dropDatabases(run: TestRun): Promise<void> {
  await withClient(run.ownerUrl, async (client) => {
    const { rows } = await client.query(`select datname from pg_database where starts_with(datname, $1)`, [run.prefix]);
    for (const { datname } of rows) await client.query(`drop database ${datname} with (force)`);
  });
}

export function urlOfDatabase(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = `/${database}`;
  return other.href;
}

/** The steps that the controller itself runs. */
async function migrateTemplate(ownerUrl: string): Promise<undefined> {
  const [{ migrate }, { migrations }] = await Promise.all([
    import('../../libs/store/src/index.js'),
    import('../../apps/controller/src/migrations.js'),
  ]);
  await migrate({ ownerUrl, appRole, migrations });
}
