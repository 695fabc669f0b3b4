import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { canonicalJson, FarmError } from '#contracts';
import { type AllowedTable, readAllowed } from './allowed-table.js';
import { readPlugins } from './plugin-tables.js';
import { SettingReader } from './setting-reader.js';
import { secretTable, settingTable } from './setting-table.js';
import type { NatsSettings, Settings } from './settings.js';
import { readTomlFile, type TomlFile } from './toml-file.js';

/**
 * Reads environment and longshore.toml, the environment first. The file is LONGSHORE_CONFIG or lies in the data folder.
 * Errors: FarmError misconfigured with everything that does not hold at once, each by file, line and key or by variable, and never
 * a value; also when an address other than loopback would be served without TLS (H36).
 */
export async function readSettings(environment: NodeJS.ProcessEnv): Promise<Settings> {
  const data = environment.LONGSHORE_DATA || join(homedir(), '.longshore');
  const named = environment.LONGSHORE_CONFIG || undefined;
  const path = resolve(named ?? join(data, 'longshore.toml'));
  const file = await readTomlFile(path, named !== undefined);
  const reader = new SettingReader(environment, file);
  const databaseUrl = await reader.readSecret(secretTable.databaseUrl);
  if (databaseUrl === undefined && reader.problems.length === 0)
    reader.problems.push('DATABASE_URL is missing (or DATABASE_URL_FILE, or database.url_file: a file that holds it)');
  const read = {
    databaseUrl: databaseUrl ?? '',
    databaseOwnerUrl: await reader.readSecret(secretTable.databaseOwnerUrl),
    ...(await readServer(reader)),
    data,
    leaseMs: reader.read(settingTable.jobs.leaseMs),
    keyRotationDays: reader.read(settingTable.identity.keyRotationDays),
    nats: await readNats(reader),
    sources: await readSources(reader),
    operations: readOperations(reader),
    api: readApi(reader),
    plugins: readPlugins(reader),
  };
  const generation = reader.read(settingTable.generation);
  const mcp = readAllowed(reader);
  reader.refuseUnknown();
  if (reader.problems.length > 0) throw misconfigured(reader.problems);
  return {
    ...read,
    mcp: { allowed: mcp.allowed },
    configuration: configurationOf(path, file, generation, reader, mcp),
  };
}

async function readServer(reader: SettingReader) {
  const { server } = settingTable;
  const host = reader.read(server.host);
  const tls = await readTls(reader);
  const insecure = reader.read(server.insecure);
  if (!isLoopback(host) && tls === undefined && !insecure)
    reader.problems.push(
      `${reader.placeOf(server.host)} is not a loopback address and there is no TLS: give LONGSHORE_TLS_CERT_FILE and LONGSHORE_TLS_KEY_FILE (server.tls_cert_file, server.tls_key_file), or set LONGSHORE_INSECURE=1 (server.insecure) behind a proxy that has TLS`,
    );
  return {
    host,
    port: reader.read(server.port),
    tls,
    publicUrl: reader.read(server.publicUrl),
    trustedProxies: reader.read(server.trustedProxies),
    logLevel: reader.read(server.logLevel),
  };
}

async function readTls(reader: SettingReader): Promise<Settings['tls']> {
  const { tlsCertFile, tlsKeyFile } = settingTable.server;
  const problems = reader.problems.length;
  const cert = await reader.readFileOf(tlsCertFile);
  const key = await reader.readFileOf(tlsKeyFile);
  if (cert !== undefined && key !== undefined) return { cert, key };
  if (problems === reader.problems.length && (cert !== undefined || key !== undefined))
    reader.problems.push(
      'LONGSHORE_TLS_CERT_FILE and LONGSHORE_TLS_KEY_FILE (server.tls_cert_file, server.tls_key_file) belong together: give both or none',
    );
  return undefined;
}

async function readNats(reader: SettingReader): Promise<NatsSettings | undefined> {
  const { nats } = settingTable;
  const url = reader.read(nats.url);
  const creds = await reader.readFileOf(nats.credsFile);
  const accountSeed = (await reader.readFileOf(nats.accountSeedFile))?.trim();
  if (url === undefined) return undefined;
  if (reader.isFromFile(nats.url) && hasCredentials(url))
    reader.problems.push(
      `${reader.placeOf(nats.url)} must not hold a password: name a file by nats.creds_file, or set NATS_URL in the environment`,
    );
  return { url, creds, accountSeed };
}

/** The certificates stay in their file, which git reads; here it is only seen to be there. */
async function readSources(reader: SettingReader): Promise<Settings['sources']> {
  const { privateHosts, roots, caFile } = settingTable.sources;
  const certificates = reader.readPath(caFile);
  if (certificates !== undefined) await reader.readNamed(reader.placeOf(caFile), certificates);
  return {
    privateHosts: reader.read(privateHosts),
    roots: reader.read(roots),
    ...(certificates !== undefined && { caFile: resolve(certificates) }),
  };
}

function readOperations(reader: SettingReader): Settings['operations'] {
  const { operations } = settingTable;
  return {
    confirmTtlSeconds: reader.read(operations.confirmTtlSeconds),
    maxPendingConfirmations: reader.read(operations.maxPendingConfirmations),
    proposalChangesShown: reader.read(operations.proposalChangesShown),
    liftNever: reader.read(operations.liftNever),
  };
}

function readApi(reader: SettingReader): Settings['api'] {
  const { api } = settingTable;
  return {
    callsPerMinute: reader.read(api.callsPerMinute),
    signInsPerMinute: reader.read(api.signInsPerMinute),
    mcpEnabled: reader.read(api.mcpEnabled),
    mcpMaxResultBytes: reader.read(api.mcpMaxResultBytes),
  };
}

function configurationOf(
  path: string,
  file: TomlFile | undefined,
  generation: number,
  { shown }: SettingReader,
  { allowed, warnings }: AllowedTable,
): Settings['configuration'] {
  const values = shown.filter(({ key }) => isShared(key)).map(({ key, value }) => [key, value]);
  const hash = createHash('sha256').update(canonicalJson({ values, allowed })).digest('hex');
  return { path, found: file !== undefined, hash, generation, settings: shown, warnings };
}

/** Each controller has an address of its own, and perhaps its own road to the services. */
function isShared(key: string): boolean {
  return !/^(server|database|nats|generation)\b/.test(key);
}

function misconfigured(problems: readonly string[]): FarmError {
  return new FarmError('misconfigured', `The configuration does not hold: ${problems.join('; ')}`);
}

function hasCredentials(url: string): boolean {
  const { username, password } = new URL(url);
  return username !== '' || password !== '';
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
