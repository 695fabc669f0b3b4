import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { z } from 'zod';
import { FarmError } from '#contracts';
import { appRole } from './postgres.js';
import { readPrivateJson, writePrivateJson } from './private-file.js';
import { serviceSql } from './sql.js';

/** A database as the farm uses it. */
export interface FarmDatabase {
  /** For migrations: the role that owns the tables. */
  readonly ownerUrl: string;
  /** For everything else. */
  readonly appUrl: string;
  readonly appRole: string;
}

const oldestServer = 150_000;

/**
 * An existing server, named by DATABASE_URL (the owner's role, a database of its own) and, when the owner may not create roles,
 * DATABASE_APP_URL. Errors: misconfigured, unavailable; never the URL in them, it holds a password.
 */
export async function useGivenDatabase(data: string, ownerUrl: string, appUrl?: string): Promise<FarmDatabase> {
  const owner = parse(ownerUrl, 'DATABASE_URL');
  const given = appUrl === undefined ? undefined : parse(appUrl, 'DATABASE_APP_URL');
  const client = new pg.Client({
    connectionString: owner.href,
    connectionTimeoutMillis: 10_000,
    query_timeout: 20_000,
  });
  client.on('error', () => undefined);
  await client.connect().catch((cause: unknown) => {
    throw new FarmError(
      'unavailable',
      'The database that DATABASE_URL names can not be reached or refuses the login.',
      {
        hint: 'Try the same URL with psql; unset DATABASE_URL to let Longshore start its own PostgreSQL.',
        cause,
      },
    );
  });
  try {
    await requireVersion(client);
    if (given !== undefined)
      return { ownerUrl: owner.href, appUrl: given.href, appRole: decodeURIComponent(given.username) };
    return { ownerUrl: owner.href, appUrl: await ensureAppRole(client, data, owner), appRole };
  } finally {
    await client.end();
  }
}

function parse(url: string, variable: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (
    parsed !== undefined &&
    /^postgres(ql)?:$/.test(parsed.protocol) &&
    parsed.username !== '' &&
    parsed.pathname.length > 1
  ) {
    return parsed;
  }
  throw new FarmError('misconfigured', `${variable} is not a PostgreSQL address with a user and a database.`, {
    hint: `The form is postgresql://user:password@host:5432/database.`,
  });
}

async function requireVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query(serviceSql.version);
  const { version } = z.object({ version: z.coerce.number() }).parse(rows[0]);
  if (version >= oldestServer) return;
  throw new FarmError(
    'misconfigured',
    `The server of DATABASE_URL is PostgreSQL ${Math.trunc(version / 10_000)}; 15 is the oldest that works.`,
    {
      hint: 'Use a newer server, or unset DATABASE_URL to let Longshore start its own.',
    },
  );
}

const Kept = z.strictObject({ app: z.string() });

async function ensureAppRole(client: pg.Client, data: string, owner: URL): Promise<string> {
  const path = join(data, 'database.json');
  const known = await readPrivateJson(path, Kept);
  const password = known?.app ?? randomBytes(24).toString('base64url');
  const role = await client.query(serviceSql.hasRole, [appRole]);
  if (role.rowCount !== 0 && known === undefined) {
    // Another farm may be using it: its password is not ours to change.
    throw new FarmError(
      'misconfigured',
      `The server of DATABASE_URL already has a role ${appRole}, and its password is not known here.`,
      {
        hint: 'Name it with its password in DATABASE_APP_URL.',
      },
    );
  }
  if (known === undefined) await writePrivateJson(path, { app: password });
  if (role.rowCount === 0) {
    await client.query(serviceSql.createRole(appRole, password)).catch((cause: unknown) => {
      throw new FarmError('misconfigured', `The user of DATABASE_URL may not create the role ${appRole}.`, {
        hint: 'Let it create roles, or make the role yourself and name it in DATABASE_APP_URL.',
        cause,
      });
    });
  }
  const app = new URL(owner);
  app.username = appRole;
  app.password = password;
  return app.href;
}
