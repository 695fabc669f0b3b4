import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { FarmError } from '#contracts';

/**
 * One step of the schema, forward only: expand first, contract in a later release. `up` may name the application's role as
 * `{{app}}`.
 */
export interface Migration {
  /** Place in the one sequence of all libs' steps; never reused, later steps take higher numbers. */
  readonly order: number;
  /** `store-clock` */
  readonly name: string;
  readonly up: string;
}

/** One lock for the whole database: controllers that start together migrate once. */
const lockKey = 7_305_001;

interface MigrateOptions {
  /** The role that owns the tables. */
  readonly ownerUrl: string;
  /** The role that the controllers work as; granted by each migration what it may do. */
  readonly appRole: string;
  readonly migrations: readonly Migration[];
}

/** Brings the schema up to date. Answers the names of the steps that ran. A schema from a newer release is refused. */
export async function migrate({ ownerUrl, appRole, migrations }: MigrateOptions): Promise<readonly string[]> {
  const source = new DataSource({
    type: 'postgres',
    url: ownerUrl,
    migrationsTableName: 'migration',
    migrationsTransactionMode: 'each',
    migrations: [...migrations].sort((a, b) => a.order - b.order).map((step) => classOf(step, appRole)),
    applicationName: 'longshore-migrate',
  });
  await source.initialize();
  const runner = source.createQueryRunner();
  try {
    await runner.query('select pg_advisory_lock($1)', [lockKey]);
    await refuseNewerSchema(runner, migrations);
    const ran = await source.runMigrations();
    return ran.map((step) => step.name);
  } finally {
    await runner.query('select pg_advisory_unlock($1)', [lockKey]);
    await runner.release();
    await source.destroy();
  }
}

async function refuseNewerSchema(runner: QueryRunner, migrations: readonly Migration[]): Promise<void> {
  const [{ exists } = { exists: false }] = await runner.query(`select to_regclass('migration') is not null as exists`);
  if (exists !== true) return;
  const rows: readonly { name: string }[] = await runner.query('select name from migration order by id');
  const known = new Set(migrations.map(stampedName));
  const unknown = rows.find((row) => !known.has(row.name));
  if (!unknown) return;
  throw new FarmError('data_version', `The database has a migration that this version does not know: ${unknown.name}`, {
    hint: 'Start the version of Longshore that made it, or another data folder or database.',
  });
}

/** TypeORM orders by a 13-digit stamp at the end of the name. */
function stampedName(step: Migration): string {
  return `${step.name}${String(1_700_000_000_000 + step.order)}`;
}

function classOf(step: Migration, appRole: string): new () => MigrationInterface {
  const quoted = `"${appRole.replaceAll('"', '""')}"`;
  return class implements MigrationInterface {
    readonly name = stampedName(step);

    async up(runner: QueryRunner): Promise<void> {
      await runner.query(step.up.replaceAll('{{app}}', quoted));
    }

    async down(): Promise<void> {
      throw new Error('migrations go forward only');
    }
  };
}
