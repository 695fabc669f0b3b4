import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
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
  await migrateTemplate(urlOfDatabase(ownerUrl, run.template));
  await withClient(ownerUrl, (client) => client.query(`alter database ${run.template} allow_connections false`));
  return run;
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

const store = new URL('../../libs/store/src/index.ts', import.meta.url);

async function migrateTemplate(ownerUrl: string): Promise<void> {
  if (!existsSync(store)) return;
  const lib: unknown = await import(store.href);
  if (hasMigrate(lib)) await lib.migrate(ownerUrl);
}

function hasMigrate(lib: unknown): lib is { migrate(ownerUrl: string): Promise<unknown> } {
  return typeof lib === 'object' && lib !== null && 'migrate' in lib && typeof lib.migrate === 'function';
}
