import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { FarmError, limits } from '#contracts';

/** Where this controller listens, what it uses, where it keeps things. */
export interface Settings {
  readonly databaseUrl: string;
  /** The role that owns the schema; absent: somebody else migrates. */
  readonly databaseOwnerUrl: string | undefined;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Where workers and people reach it, when that is not where it listens. */
  readonly publicUrl: string | undefined;
  /** Keys, the Tasks' stores, objects; shared by all controllers (D23). */
  readonly data: string;
  readonly leaseMs: number;
  readonly nats: NatsSettings | undefined;
  /** What an admin opens to the sources of Tasks; absent: nothing beside the hosts of the internet (H30). */
  readonly sources?: SourceSettings;
}

interface SourceSettings {
  readonly privateHosts: readonly string[];
  readonly roots: readonly string[];
  readonly caFile?: string;
}

export interface NatsSettings {
  readonly url: string;
  /** Text of the controller's credentials file. */
  readonly creds: string | undefined;
  /** Signs the workers' users; absent: workers get none and poll (H23). */
  readonly accountSeed: string | undefined;
}

const text = z.string().min(1);

const Environment = z.object({
  DATABASE_URL: text,
  DATABASE_OWNER_URL: text.optional(),
  NATS_URL: text.optional(),
  NATS_CREDS_FILE: text.optional(),
  NATS_ACCOUNT_SEED_FILE: text.optional(),
  LONGSHORE_DATA: text.default(join(homedir(), '.longshore')),
  LONGSHORE_HOST: text.default('127.0.0.1'),
  LONGSHORE_PORT: z.coerce.number().int().min(0).max(65_535).default(4180),
  LONGSHORE_LEASE_MS: z.coerce.number().int().min(200).max(600_000).default(limits.leaseMs),
  LONGSHORE_PUBLIC_URL: z.url().optional(),
  LONGSHORE_TLS_CERT_FILE: text.optional(),
  LONGSHORE_TLS_KEY_FILE: text.optional(),
  LONGSHORE_INSECURE: z.enum(['0', '1']).default('0'),
  LONGSHORE_SOURCE_HOSTS: z
    .string()
    .transform(listOf)
    .pipe(z.array(z.string().refine(isHostOrRange)))
    .default([]),
  LONGSHORE_SOURCE_ROOTS: z
    .string()
    .transform(listOf)
    .pipe(z.array(z.string().refine((path) => isAbsolute(path))))
    .default([]),
  LONGSHORE_SOURCE_CA_FILE: text.optional(),
});

/**
 * Reads and checks the environment. Errors: FarmError misconfigured, naming the variable and never its value; also when an
 * address other than loopback would be served without TLS (H36).
 */
export async function readSettings(environment: NodeJS.ProcessEnv): Promise<Settings> {
  const read = Environment.safeParse(environment);
  if (!read.success) {
    const names = [...new Set(read.error.issues.map((issue) => String(issue.path[0])))];
    throw new FarmError('misconfigured', `These variables are missing or do not hold: ${names.join(', ')}`);
  }
  const given = read.data;
  const tls = await readTls(given.LONGSHORE_TLS_CERT_FILE, given.LONGSHORE_TLS_KEY_FILE);
  if (!isLoopback(given.LONGSHORE_HOST) && tls === undefined && given.LONGSHORE_INSECURE !== '1') {
    throw new FarmError('misconfigured', 'LONGSHORE_HOST is not a loopback address and there is no TLS', {
      hint: 'Give LONGSHORE_TLS_CERT_FILE and LONGSHORE_TLS_KEY_FILE, or set LONGSHORE_INSECURE=1 behind a proxy that has TLS.',
    });
  }
  return {
    databaseUrl: given.DATABASE_URL,
    databaseOwnerUrl: given.DATABASE_OWNER_URL,
    host: given.LONGSHORE_HOST,
    port: given.LONGSHORE_PORT,
    tls,
    publicUrl: given.LONGSHORE_PUBLIC_URL,
    data: given.LONGSHORE_DATA,
    leaseMs: given.LONGSHORE_LEASE_MS,
    sources: await readSources(given),
    nats: given.NATS_URL === undefined ? undefined : await readNats(given.NATS_URL, given),
  };
}

/** The certificates stay in their file, which git reads; here it is only seen to be there. */
async function readSources(given: z.output<typeof Environment>): Promise<SourceSettings> {
  await readNamed('LONGSHORE_SOURCE_CA_FILE', given.LONGSHORE_SOURCE_CA_FILE);
  return {
    privateHosts: given.LONGSHORE_SOURCE_HOSTS,
    roots: given.LONGSHORE_SOURCE_ROOTS,
    ...(given.LONGSHORE_SOURCE_CA_FILE !== undefined && { caFile: resolve(given.LONGSHORE_SOURCE_CA_FILE) }),
  };
}

async function readNats(url: string, files: z.output<typeof Environment>): Promise<NatsSettings> {
  return {
    url,
    creds: await readNamed('NATS_CREDS_FILE', files.NATS_CREDS_FILE),
    accountSeed: (await readNamed('NATS_ACCOUNT_SEED_FILE', files.NATS_ACCOUNT_SEED_FILE))?.trim(),
  };
}

async function readTls(certFile: string | undefined, keyFile: string | undefined): Promise<Settings['tls']> {
  const cert = await readNamed('LONGSHORE_TLS_CERT_FILE', certFile);
  const key = await readNamed('LONGSHORE_TLS_KEY_FILE', keyFile);
  if (cert === undefined && key === undefined) return undefined;
  if (cert !== undefined && key !== undefined) return { cert, key };
  throw new FarmError('misconfigured', 'LONGSHORE_TLS_CERT_FILE and LONGSHORE_TLS_KEY_FILE belong together');
}

async function readNamed(variable: string, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new FarmError('misconfigured', `The file that ${variable} names can not be read`, { cause });
  }
}

function listOf(text: string): string[] {
  return text.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()]));
}

/** `git.example.com`, `git.example.com:8443`, `10.1.2.3`, `10.1.0.0/16`, `fd00::/8`. */
function isHostOrRange(entry: string): boolean {
  const [net = '', prefix, ...more] = entry.split('/');
  const family = isIP(net);
  if (prefix !== undefined)
    return more.length === 0 && family !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128);
  return family !== 0 || /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i.test(entry);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
