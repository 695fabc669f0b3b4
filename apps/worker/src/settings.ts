import { homedir, hostname } from 'node:os';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { FarmError, limits } from '#contracts';
import { type Backend, backends } from './workspace/layers/backends.js';

export interface WorkerSettings {
  /** The worker's own folder, 0700: identity, workspaces, cache, rescue. */
  readonly home: string;
  /** Address of the controller. Absent: the one that it enrolled with. */
  readonly url: string | undefined;
  readonly slots: number;
  /** File that holds the join ticket; absent: stdin (H22). */
  readonly ticketFile: string | undefined;
  readonly name: string;
  readonly host: string;
  /** Plain http to another machine is allowed (H36). */
  readonly insecure: boolean;
  /** Wait for an identity that another process uses, and do not end with code 6 (D16). */
  readonly wait: boolean;
  readonly logLevel: string;
  /** How long a session may say nothing (D6), ms. */
  readonly silenceMs: number;
  /** How long a drain may take, ms. */
  readonly drainMs: number;
  /** Backends that workspaces may be made with; all that work here by default. */
  readonly isolation: readonly Backend[];
  /** Folders in which Tasks may work in place; none by default (H27). */
  readonly workspaceRoots: readonly string[];
  /** Bytes that the disk keeps free: below it no work is taken. */
  readonly diskFloorBytes: number;
  /** Bytes that one session or command may add to it. */
  readonly sessionDiskBytes: number;
  /** Bytes that templates, repositories and kept workspaces may take together. */
  readonly cacheBytes: number;
  /** Where to write down the tokens that are held, so that somebody can try them when they are worth nothing any more. */
  readonly traceTokensFile: string | undefined;
}

const backendNames = z
  .string()
  .transform((names) => names.split(',').map((name) => name.trim()))
  .pipe(z.array(z.enum(backends)).min(1));

const whole = (low: number, high: number) => z.coerce.number().int().min(low).max(high);

const mebibyte = 1024 ** 2;

const Environment = z.object({
  LONGSHORE_WORKER_HOME: z.string().min(1).optional(),
  LONGSHORE_URL: z.url({ protocol: /^https?$/ }).optional(),
  // one beat carries them all
  LONGSHORE_WORKER_SLOTS: whole(1, limits.beatLeases).default(2),
  LONGSHORE_WORKER_NAME: z.string().min(1).max(64).optional(),
  LONGSHORE_JOIN_TICKET_FILE: z.string().min(1).optional(),
  LONGSHORE_INSECURE: z.enum(['0', '1']).default('0'),
  LONGSHORE_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  LONGSHORE_SILENCE_MS: whole(1, 2 ** 31 - 1).default(limits.silenceMs),
  LONGSHORE_DRAIN_MS: whole(1, 2 ** 31 - 1).default(limits.drainMs),
  LONGSHORE_WORKSPACE_ROOTS: z
    .string()
    .default('')
    .transform((value) => value.split(delimiter).filter((path) => path !== ''))
    .refine((paths) => paths.every((path) => isAbsolute(path) && path !== '/')),
  LONGSHORE_ISOLATION: backendNames.default([...backends]),
  LONGSHORE_DISK_FLOOR_MB: whole(0, 2 ** 31 - 1).default(limits.diskFloorBytes / mebibyte),
  LONGSHORE_SESSION_DISK_MB: whole(1, 2 ** 31 - 1).default(limits.sessionDiskBytes / mebibyte),
  LONGSHORE_CACHE_MB: whole(0, 2 ** 31 - 1).default(limits.workerCacheBytes / mebibyte),
  LONGSHORE_WORKER_TRACE_TOKENS_FILE: z.string().min(1).optional(),
});

/**
 * Reads the environment and the one flag, `--wait`.
 *
 * @throws FarmError `misconfigured` naming the variables that do not hold, never their values
 */
export function readSettings(
  environment: Readonly<Record<string, string | undefined>>,
  flags: readonly string[],
): WorkerSettings {
  const parsed = Environment.safeParse(environment);
  if (!parsed.success) {
    const names = [...new Set(parsed.error.issues.map((issue) => issue.path.join('.')))].join(', ');
    throw new FarmError('misconfigured', `These settings do not hold: ${names}.`, {
      hint: 'Correct them in the environment of the worker and start it again.',
    });
  }
  const unknown = flags.filter((flag) => flag !== '--wait');
  if (unknown.length > 0) {
    throw new FarmError('misconfigured', 'The worker takes no argument but --wait.', {
      hint: 'A join ticket goes in by stdin or by LONGSHORE_JOIN_TICKET_FILE.',
    });
  }
  const given = parsed.data;
  return {
    home: resolve(given.LONGSHORE_WORKER_HOME ?? defaultHome()),
    url: given.LONGSHORE_URL,
    slots: given.LONGSHORE_WORKER_SLOTS,
    ticketFile: given.LONGSHORE_JOIN_TICKET_FILE,
    name: given.LONGSHORE_WORKER_NAME ?? hostname().slice(0, 64),
    host: hostname().slice(0, 255),
    insecure: given.LONGSHORE_INSECURE === '1',
    wait: flags.includes('--wait'),
    logLevel: given.LONGSHORE_LOG_LEVEL,
    silenceMs: given.LONGSHORE_SILENCE_MS,
    drainMs: given.LONGSHORE_DRAIN_MS,
    isolation: given.LONGSHORE_ISOLATION,
    workspaceRoots: given.LONGSHORE_WORKSPACE_ROOTS,
    diskFloorBytes: given.LONGSHORE_DISK_FLOOR_MB * mebibyte,
    sessionDiskBytes: given.LONGSHORE_SESSION_DISK_MB * mebibyte,
    cacheBytes: given.LONGSHORE_CACHE_MB * mebibyte,
    traceTokensFile: given.LONGSHORE_WORKER_TRACE_TOKENS_FILE,
  };
}

/** The folder of a worker that was told none. */
export function defaultHome(): string {
  return join(homedir(), '.longshore', 'worker');
}

const loopback = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * The worker speaks plain http to its own machine only (H36).
 *
 * @throws FarmError `misconfigured`
 */
export function requireSafeUrl(url: string, insecure: boolean): void {
  const { protocol, hostname: host } = new URL(url);
  if (protocol === 'https:' || insecure || loopback.test(host)) return;
  throw new FarmError('misconfigured', 'The controller is on another machine and its address is not https.', {
    hint: 'Give its https address, or say --insecure (LONGSHORE_INSECURE=1) on a network that you trust.',
  });
}
