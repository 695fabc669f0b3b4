import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { z } from 'zod';
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

/** The libs that own tables, in the order of their dependencies. */
const owners = ['store', 'gate', 'jobs', 'teams'];

const Step = z.object({ name: z.string(), up: z.string() });
const Store = z.object({ migrate: z.custom<Migrate>((value) => typeof value === 'function') });
type Migrate = (options: {
  ownerUrl: string;
  appRole: string;
  migrations: readonly z.infer<typeof Step>[];
}) => Promise<unknown>;

/** Whatever a lib exports that looks like a migration, or a list of them, belongs to its schema. */
async function migrateTemplate(ownerUrl: string): Promise<undefined> {
  const libs = await Promise.all(owners.map(importLib));
  const store = Store.safeParse(libs[0]);
  if (!store.success) return;
  const migrations = libs.flatMap((lib) =>
    Object.values(lib)
      .flat()
      .flatMap((exported) => Step.safeParse(exported).data ?? [])
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  );
  const unique = [...new Map(migrations.map((step) => [step.name, step])).values()];
  await store.data.migrate({ ownerUrl, appRole, migrations: unique });
}

async function importLib(lib: string): Promise<Readonly<Record<string, unknown>>> {
  const source = new URL(`../../libs/${lib}/src/index.ts`, import.meta.url);
  if (!existsSync(source)) return {};
  try {
    return await import(source.href);
  } catch (error) {
    // Only its own tests need its tables, and they will say so.
    console.warn(`The tables of libs/${lib} are missing in the test database: ${String(error)}`);
    return {};
  }
}
