import { isIP } from 'node:net';
import { z } from 'zod';
import { limits } from '#contracts';
import { absolutePaths, list, maybe, oneOf, type Secret, type Setting, text, wholeNumber, yesOrNo } from './setting.js';

/** Every setting of a controller but `[mcp.allowed]`, by table. */
export const settingTable = {
  generation: wholeNumber(
    { key: 'generation', variable: 'LONGSHORE_CONFIG_GENERATION' },
    { low: 0, high: Number.MAX_SAFE_INTEGER, initial: 0 },
  ),
  server: {
    host: text({ key: 'server.host', variable: 'LONGSHORE_HOST' }, '127.0.0.1'),
    port: wholeNumber({ key: 'server.port', variable: 'LONGSHORE_PORT' }, { low: 0, high: 65_535, initial: 4180 }),
    publicUrl: maybe({ key: 'server.public_url', variable: 'LONGSHORE_PUBLIC_URL' }, 'a URL', z.url()),
    tlsCertFile: maybe({ key: 'server.tls_cert_file', variable: 'LONGSHORE_TLS_CERT_FILE' }, 'the name of a file'),
    tlsKeyFile: maybe({ key: 'server.tls_key_file', variable: 'LONGSHORE_TLS_KEY_FILE' }, 'the name of a file'),
    trustedProxies: list(
      { key: 'server.trusted_proxies', variable: 'LONGSHORE_TRUSTED_PROXIES' },
      (entry) => isIP(entry.split('/')[0] ?? '') !== 0 && isHostOrRange(entry),
      'a list of addresses (10.1.2.3) and ranges (10.1.0.0/16, fd00::/8)',
    ),
    insecure: yesOrNo({ key: 'server.insecure', variable: 'LONGSHORE_INSECURE' }),
    logLevel: oneOf(
      { key: 'server.log_level', variable: 'LONGSHORE_LOG_LEVEL' },
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'info',
    ),
  },
  nats: {
    url: natsUrl({ key: 'nats.url', variable: 'NATS_URL' }),
    credsFile: maybe({ key: 'nats.creds_file', variable: 'NATS_CREDS_FILE' }, 'the name of a file'),
    accountSeedFile: maybe({ key: 'nats.account_seed_file', variable: 'NATS_ACCOUNT_SEED_FILE' }, 'the name of a file'),
  },
  jobs: {
    leaseMs: wholeNumber(
      { key: 'jobs.lease_ms', variable: 'LONGSHORE_LEASE_MS' },
      { low: 200, high: 600_000, initial: limits.leaseMs },
    ),
  },
  identity: {
    keyRotationDays: wholeNumber(
      { key: 'identity.key_rotation_days', variable: 'LONGSHORE_KEY_ROTATION_DAYS' },
      { low: 0, high: limits.keyRotationMostDays, initial: limits.keyRotationDays },
    ),
  },
  sources: {
    privateHosts: list(
      { key: 'sources.private_hosts', variable: 'LONGSHORE_SOURCE_HOSTS' },
      isHostOrRange,
      'a list of hosts (git.example.com, git.example.com:8443) and ranges (10.1.0.0/16, fd00::/8)',
    ),
    roots: absolutePaths({ key: 'sources.roots', variable: 'LONGSHORE_SOURCE_ROOTS' }),
    caFile: maybe({ key: 'sources.ca_file', variable: 'LONGSHORE_SOURCE_CA_FILE' }, 'the name of a file'),
  },
  operations: {
    confirmTtlSeconds: wholeNumber(
      { key: 'operations.confirm_ttl_seconds', variable: 'LONGSHORE_CONFIRM_TTL_SECONDS' },
      { low: 1, high: limits.confirmTtlMostSeconds, initial: limits.confirmTtlSeconds },
    ),
    maxPendingConfirmations: wholeNumber(
      { key: 'operations.max_pending_confirmations', variable: 'LONGSHORE_MAX_PENDING_CONFIRMATIONS' },
      { low: 1, high: limits.pendingConfirmationsMost, initial: limits.pendingConfirmations },
    ),
    proposalChangesShown: wholeNumber(
      { key: 'operations.proposal_changes_shown', variable: 'LONGSHORE_PROPOSAL_CHANGES_SHOWN' },
      { low: 1, high: limits.proposalChangesMost, initial: limits.proposalChangesShown },
    ),
    liftNever: list(
      { key: 'operations.lift_never', variable: 'LONGSHORE_LIFT_NEVER' },
      (name) => name.trim() !== '',
      'a list of names of operations',
    ),
  },
  api: {
    callsPerMinute: wholeNumber(
      { key: 'api.calls_per_minute', variable: 'LONGSHORE_CALLS_PER_MINUTE' },
      { low: 0, high: limits.callsPerMinuteMost, initial: limits.callsPerMinute },
    ),
    signInsPerMinute: wholeNumber(
      { key: 'api.sign_ins_per_minute', variable: 'LONGSHORE_SIGN_INS_PER_MINUTE' },
      { low: 0, high: limits.callsPerMinuteMost, initial: limits.signInsPerMinute },
    ),
    mcpEnabled: yesOrNo({ key: 'api.mcp_enabled', variable: 'LONGSHORE_MCP_ENABLED' }),
    mcpMaxResultBytes: wholeNumber(
      { key: 'api.mcp_max_result_bytes', variable: 'LONGSHORE_MCP_MAX_RESULT_BYTES' },
      { low: limits.mcpResultLeastBytes, high: limits.mcpResultMostBytes, initial: limits.mcpResultBytes },
    ),
  },
} as const;

export const secretTable = {
  databaseUrl: { key: 'database.url_file', variable: 'DATABASE_URL', fileVariable: 'DATABASE_URL_FILE' },
  databaseOwnerUrl: {
    key: 'database.owner_url_file',
    variable: 'DATABASE_OWNER_URL',
    fileVariable: 'DATABASE_OWNER_URL_FILE',
  },
} as const satisfies Readonly<Record<string, Secret>>;

/** In the environment it may hold a password; in a file that people pass around it may not. */
function natsUrl(place: Pick<Setting<unknown>, 'key' | 'variable'>): Setting<string | undefined> {
  const setting = maybe(place, 'a URL such as nats://host:4222 or tls://host:4222', z.url());
  return { ...setting, shown: (url) => withoutCredentials(url ?? '') };
}

/** For people: host and port of a URL. */
export function withoutCredentials(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}

/** `git.example.com`, `git.example.com:8443`, `10.1.2.3`, `10.1.0.0/16`, `fd00::/8`. */
function isHostOrRange(entry: string): boolean {
  const [net = '', prefix, ...more] = entry.split('/');
  const family = isIP(net);
  if (prefix !== undefined)
    return more.length === 0 && family !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128);
  return family !== 0 || /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i.test(entry);
}
