import { randomBytes } from 'node:crypto';
import { appRole } from '../../apps/cli/src/services/postgres.js';
import { urlOfDatabase } from './template.js';
import { testRun, withClient } from './test-run.js';

export interface TestDatabase {
  readonly name: string;
  /** As the owner, a superuser. */
  readonly ownerUrl: string;
  /** As the role that the controller works with. */
  readonly appUrl: string;
  /** Ends every connection to it and drops it. Optional: what is left goes with the run. */
  drop(): Promise<void>;
}

/** A fresh migrated database, copied from the run's template (about 0.1 s). One per spec file is the custom. */
export async function aDatabase(): Promise<TestDatabase> {
  const run = testRun();
  if (run.failure !== undefined) throw new Error(run.failure);
  const name = `${run.prefix}_${randomBytes(5).toString('hex')}`;
  await withClient(run.ownerUrl, (client) => client.query(`create database ${name} template ${run.template}`));
  const ownerUrl = urlOfDatabase(run.ownerUrl, name);
  const app = new URL(ownerUrl);
  app.username = appRole;
  app.password = run.appPassword;
  return {
    name,
    ownerUrl,
    appUrl: app.href,
    async drop() {
      await withClient(run.ownerUrl, (client) => client.query(`drop database if exists ${name} with (force)`));
    },
  };
}
