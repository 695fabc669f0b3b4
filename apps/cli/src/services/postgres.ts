import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { execa } from 'execa';
import pg from 'pg';
import { z } from 'zod';
import { FarmError } from '#contracts';
import { childEnvironment } from './child-environment.js';
import { freePort, portTaken, requireFreePort } from './ports.js';
import { type PostgresPrograms, postgresPrograms } from './postgres-programs.js';
import { giveTo, type PostgresUser, postgresUser } from './postgres-user.js';
import { makePrivateFolder, readIfThere, readPrivateJson, writePrivateFile, writePrivateJson } from './private-file.js';
import { endProcess, findWithArgument, isAlive, type ProcessMark } from './process-mark.js';
import { spawnService } from './spawn-service.js';
import { serviceSql } from './sql.js';

const ownerRole = 'longshore_owner';
export const appRole = 'longshore_app';
const farmDatabase = 'longshore';

const Credentials = z.strictObject({ owner: z.string().min(20), app: z.string().min(20) });
type Credentials = Readonly<z.infer<typeof Credentials>>;

export interface PostgresOptions {
  /** The farm's data folder; everything of the server lies in `<data>/postgres`. */
  readonly data: string;
  /** A loopback port; without it a free one is taken. */
  readonly port?: number;
  /** Way to run as somebody else than root; found out when absent. */
  readonly user?: PostgresUser;
}

export interface RunningPostgres {
  /** Database `longshore` as its owner, a superuser: for migrations. */
  readonly url: string;
  /** The same database as the role that the controller works with; its grants come from the migrations. */
  readonly appUrl: string;
  readonly port: number;
  readonly pid: number;
  /** True when a server that a crash had left was taken over. */
  readonly reused: boolean;
  /** Ends the server by its pid, fast shutdown first. */
  stop(): Promise<void>;
}

const readyWithinMs = 120_000;
/** SIGINT is PostgreSQL's fast shutdown, SIGQUIT its immediate one; both leave a data folder that recovers. */
const shutdown = [
  ['SIGINT', 15_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
] as const;

/**
 * Starts PostgreSQL 18 on loopback over `<data>/postgres`, or takes over the one that a crash left there alive.
 * Errors: port_taken, data_version (the data of another PostgreSQL major), misconfigured.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const programs = postgresPrograms();
  const user = options.user ?? (await postgresUser(programs.postgres));
  const home = join(options.data, 'postgres');
  await makePrivateFolder(home);
  const server: Server = { home, folder: join(home, 'data'), programs, user };
  await requireSameMajor(server);
  const credentials = await initialise(server);
  const left = await takeOver(server, credentials, options.port);
  if (left !== undefined) return await prepare(left, credentials, true);
  const launched = await launch(server, options.port);
  try {
    return await prepare(launched, credentials, false);
  } catch (cause) {
    await endProcess(launched.mark, shutdown);
    throw new FarmError(
      'misconfigured',
      `The PostgreSQL over ${server.folder} does not let its owner in or can not be prepared.`,
      {
        hint: `Look into ${logOf(server)}. If the passwords were changed, put them into ${join(home, 'credentials.json')}.`,
        cause,
      },
    );
  }
}

interface Server {
  readonly home: string;
  readonly folder: string;
  readonly programs: PostgresPrograms;
  readonly user: PostgresUser;
}

interface Listening {
  readonly mark: ProcessMark;
  readonly port: number;
}

async function requireSameMajor(server: Server): Promise<void> {
  const found = (await readIfThere(join(server.folder, 'PG_VERSION')))?.trim();
  if (found === undefined || found === server.programs.major) return;
  throw new FarmError(
    'data_version',
    `The data in ${server.folder} belongs to PostgreSQL ${found}, this installation brings PostgreSQL ${server.programs.major}.`,
    {
      hint: `Start with another --data, or dump with PostgreSQL ${found} and restore into a new folder (pg_dump, psql); pg_upgrade works too.`,
    },
  );
}

/** Makes the cluster once. It appears under its name only when it is whole, so a crash in between leaves nothing half. */
async function initialise(server: Server): Promise<Credentials> {
  const path = join(server.home, 'credentials.json');
  const known = await readPrivateJson(path, Credentials);
  const exists = existsSync(server.folder);
  if (exists && known === undefined) {
    throw new FarmError('misconfigured', `The passwords of ${server.folder} are gone: ${path} is missing.`, {
      hint: 'Put the file back, or start with another --data.',
    });
  }
  const credentials = known ?? { owner: newPassword(), app: newPassword() };
  if (known === undefined) await writePrivateJson(path, credentials);
  if (!exists) await initdb(server, credentials);
  return credentials;
}

const newPassword = () => randomBytes(24).toString('base64url');

async function initdb(server: Server, credentials: Credentials): Promise<void> {
  for (const name of await readdir(server.home)) {
    if (name.startsWith('draft-')) await rm(join(server.home, name), { recursive: true, force: true });
  }
  const draft = join(server.home, `draft-${randomBytes(4).toString('hex')}`);
  const passwordFile = join(server.home, 'draft-password');
  await writePrivateFile(passwordFile, credentials.owner);
  try {
    await runAs(server.user, server.programs.initdb, [
      ...['--pgdata', draft, '--username', ownerRole, '--pwfile', passwordFile],
      ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--data-checksums'],
      // Named, so that the sort order does not hang on the locale of whoever ran it first.
      ...['--locale', 'C', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8'],
    ]);
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(draft, server.folder);
}

async function runAs(user: PostgresUser, program: string, args: readonly string[]): Promise<void> {
  const [first = program, ...rest] = [...user.prefix, program, ...args];
  const ran = await execa(first, rest, { reject: false, all: true, env: childEnvironment(), extendEnv: false });
  if (ran.exitCode === 0) return;
  throw new FarmError(
    'misconfigured',
    `PostgreSQL could not make its data folder: ${lastLines(ran.all ?? ran.shortMessage)}`,
    {
      hint: 'Look at the free space and the rights of the data folder, or name a server in DATABASE_URL.',
    },
  );
}

/** What postmaster.pid says: pid, folder, start time, port, socket folder, address, shared memory, status. */
async function readPidFile(server: Server) {
  const lines = (await readIfThere(join(server.folder, 'postmaster.pid')))?.split('\n') ?? [];
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' };
}

/** A server left by a crash: reused when it is ours and answers, else ended by its pid; a stale pid file goes. */
async function takeOver(server: Server, credentials: Credentials, port?: number): Promise<Listening | undefined> {
  const noted = await readPidFile(server);
  if (noted === undefined) return undefined;
  const mark = findWithArgument(noted.pid, server.folder);
  if (mark !== undefined) {
    const isWanted = noted.ready && (port === undefined || port === noted.port);
    if (isWanted && (await answers(server, credentials, noted.port))) return { mark, port: noted.port };
    await endProcess(mark, shutdown);
  }
  // Of another process with the same pid, or of nobody: PostgreSQL would refuse to start over it.
  await rm(join(server.folder, 'postmaster.pid'), { force: true });
  return undefined;
}

async function answers(server: Server, credentials: Credentials, port: number): Promise<boolean> {
  try {
    return await withClient(urlOf(ownerRole, credentials.owner, port, 'postgres'), async (client) => {
      const { rows } = await client.query(serviceSql.dataDirectory);
      return rows[0]?.folder === server.folder;
    });
  } catch {
    return false;
  }
}

const launchTries = 5;

async function launch(server: Server, asked: number | undefined): Promise<Listening> {
  if (asked !== undefined) await requireFreePort(asked, 'PostgreSQL');
  await giveTo(server.user, server.folder);
  for (let attempt = 1; ; attempt += 1) {
    const port = asked ?? (await freePort());
    const outcome = await tryLaunch(server, port);
    if (outcome.kind === 'ready') return outcome.listening;
    if (outcome.log.includes('Address already in use') && asked !== undefined) throw portTaken(port, 'PostgreSQL');
    if (attempt >= launchTries || !isPassing(outcome.log)) {
      throw new FarmError('unavailable', `PostgreSQL did not start: ${lastLines(outcome.log)}`, {
        hint: `Its log is ${logOf(server)}.`,
      });
    }
    await pause(500 * attempt);
  }
}

/** Gone by itself: a port taken between the look and the bind, children that have not noticed their parent's death. */
const isPassing = (log: string) =>
  /Address already in use|pre-existing shared memory block|lock file .* already exists/.test(log);

type Launched = { kind: 'ready'; listening: Listening } | { kind: 'ended'; log: string };

async function tryLaunch(server: Server, port: number): Promise<Launched> {
  const log = logOf(server);
  const args = [...server.user.prefix, server.programs.postgres, '-D', server.folder, ...settings(port)];
  const child = await spawnService(args, log);
  const until = performance.now() + readyWithinMs;
  while (isAlive(child.mark) && performance.now() < until) {
    const noted = await readPidFile(server);
    if (noted?.ready === true && noted.pid === child.mark.pid)
      return { kind: 'ready', listening: { mark: child.mark, port } };
    await pause(15);
  }
  await endProcess(child.mark, shutdown);
  return { kind: 'ended', log: await child.saidSince() };
}

const settings = (port: number) =>
  [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
    'max_connections=200',
    'password_encryption=scram-sha-256',
    'log_min_error_statement=panic',
    'timezone=UTC',
  ].flatMap((setting) => ['-c', setting]);

const logOf = (server: Server) => join(server.home, 'server.log');

/** The role and the database, made once; both steps may be repeated after a crash between them. */
async function prepare(listening: Listening, credentials: Credentials, reused: boolean): Promise<RunningPostgres> {
  const { port, mark } = listening;
  await withClient(urlOf(ownerRole, credentials.owner, port, 'postgres'), async (client) => {
    const role = await client.query(serviceSql.hasRole, [appRole]);
    if (role.rowCount === 0) await client.query(serviceSql.createRole(appRole, credentials.app));
    const database = await client.query(serviceSql.hasDatabase, [farmDatabase]);
    if (database.rowCount === 0) await client.query(serviceSql.createDatabase(farmDatabase, ownerRole));
  });
  return {
    url: urlOf(ownerRole, credentials.owner, port, farmDatabase),
    appUrl: urlOf(appRole, credentials.app, port, farmDatabase),
    port,
    pid: mark.pid,
    reused,
    async stop() {
      await endProcess(mark, shutdown);
    },
  };
}

const urlOf = (role: string, password: string, port: number, database: string) =>
  `postgresql://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;

async function withClient<T>(connectionString: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5_000, query_timeout: 20_000 });
  // A server that goes away between two queries emits this; the next query tells.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

const lastLines = (text: string) => text.trim().split('\n').slice(-3).join(' · ');
