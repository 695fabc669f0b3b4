import { constants, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { Billing, EgressHost, FarmError, Label, limits, ProviderKind, systemCodeOf, VariableName } from '#contracts';
import { readCheckedYaml } from '../checked-yaml.js';
import { readIfThere } from '../private-file.js';

/** US dollars for a million tokens, at list price. */
const Price = z.strictObject({
  input: z.number().min(0),
  output: z.number().min(0),
  cache_read: z.number().min(0).optional(),
});
export type Price = z.output<typeof Price>;

const path = z.string().min(1).max(limits.pathBytes);
const absolute = path.refine(isAbsolute, { error: 'must be an absolute path' });

/** Where a key is read at the moment it is needed: never the key itself. */
const KeyReference = z
  .strictObject({
    /** A file of mode 0600 that holds the key and nothing else. */
    file: path.optional(),
    /** A variable of the worker's own environment. */
    env: VariableName.optional(),
    /** The variable that the provider's program wants it in; its usual one by default. */
    name: VariableName.optional(),
    /** Of acp: the header that carries the key to `upstream`, so that the sandbox's proxy adds it (H35). */
    header: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,64}$/)
      .optional(),
    /** Before the key in that header: `Bearer `. */
    prefix: z
      .string()
      .regex(/^[\x20-\x7e]{1,32}$/)
      .optional(),
  })
  .refine(({ file, env }) => (file === undefined) !== (env === undefined), {
    error: 'must name a file or env, one of them',
  });
export type KeyReference = z.output<typeof KeyReference>;

const AccountEntry = z.strictObject({
  provider: ProviderKind,
  /** The folder of the program's own login (CLAUDE_CONFIG_DIR, CODEX_HOME); of acp a folder that its sessions may write. */
  login: path.optional(),
  key: KeyReference.optional(),
  /** Not secret: what else its program is told. */
  environment: z.record(VariableName, z.string().max(4096)).default({}),
  /** Models that it may be asked for; any by default. */
  models: z.array(z.string().min(1).max(limits.modelChars)).min(1).optional(),
  /** Who pays: a plan by default, a key by the request. */
  billing: Billing.optional(),
  /** Base URL of the model's API. */
  upstream: z.url({ protocol: /^https?$/ }).optional(),
  /** Of acp: the variable in which the program wants its base URL. */
  upstream_name: VariableName.optional(),
  /** Of acp: what its sessions reach besides, `api.example.com`; without a held key, `upstream`'s host is among them. */
  hosts: z
    .array(z.string().regex(/^(\*\.)?[A-Za-z0-9.-]{1,253}(:\d{1,5})?$/))
    .max(64)
    .optional(),
  program: absolute.optional(),
  /** Of an ACP agent: the program and its arguments. */
  command: z.array(z.string().min(1)).min(1).optional(),
  use: z.enum(['any', 'named']).default('any'),
  failover: z.array(Label).max(8).default([]),
});
export type AccountEntry = z.output<typeof AccountEntry>;

const WorkerFileShape = z.strictObject({
  accounts: z.record(Label, AccountEntry).default({}),
  /** By the model's name: instead of the built-in list. */
  prices: z.record(z.string().min(1).max(limits.modelChars), Price).default({}),
  /** What the owner of this machine says of sandboxes; the environment of the worker stands before it. */
  sandbox: z
    .strictObject({
      rung: z.enum(['auto', 'none', 'process', 'bwrap']).optional(),
      unsafe: z.boolean().optional(),
      readable: z.array(absolute).optional(),
      hidden: z.array(absolute).optional(),
      private_hosts: z.array(z.string().min(1)).optional(),
      /** Hosts that jobs may reach at most, beside those of their providers; what the farm lists by default. */
      egress: z.array(EgressHost).optional(),
    })
    .default({}),
  disk: z
    .strictObject({
      floor_mb: z.int().min(0).optional(),
      cache_mb: z.int().min(0).optional(),
      /** What one session or command may write. */
      session_mb: z.int().min(1).optional(),
    })
    .default({}),
  /** Folders in which a Task may work as they are: absolute, or below the person's home with `~/`. */
  workspaces: z
    .strictObject({
      roots: z
        .array(
          path.refine((root) => (isAbsolute(root) && root !== '/') || root.startsWith('~/'), {
            error: 'must be an absolute path, and not /',
          }),
        )
        .max(64)
        .default([]),
    })
    .default({ roots: [] }),
});

const WorkerFile = WorkerFileShape.superRefine(({ accounts }, context) => {
  if (Object.keys(accounts).length > 64)
    context.addIssue({ code: 'custom', path: ['accounts'], message: 'at most 64' });
  for (const [name, entry] of Object.entries(accounts)) {
    const say = (at: string, message: string) =>
      context.addIssue({ code: 'custom', path: ['accounts', name, at], message });
    if (entry.login !== undefined && entry.key !== undefined && entry.provider !== 'acp')
      say('key', 'has a login already: one of them');
    if (entry.provider === 'acp' && entry.command === undefined) say('provider', 'acp needs a command');
    if (entry.provider !== 'acp' && entry.command !== undefined) say('command', 'is for acp; name a program');
    if (entry.command !== undefined && !isAbsolute(entry.command[0] ?? ''))
      say('command', 'must begin with an absolute path');
    if (entry.login !== undefined && entry.provider === 'scripted') say('login', 'is for real agents');
    for (const [at, message] of mistakesOfAcp(entry)) say(at, message);
    if (name.startsWith('provider:')) say('provider', 'no account may be named so');
    for (const other of entry.failover) {
      if (other === name || accounts[other]?.provider !== entry.provider)
        say('failover', `${other} is no other account of ${entry.provider} here`);
    }
  }
});
export type WorkerFile = z.output<typeof WorkerFile>;

/** Of programs that we know we know how they send a key; an agent of the owner's choice has it said. */
function mistakesOfAcp({ provider, key, upstream, upstream_name, hosts }: AccountEntry): readonly [string, string][] {
  if (provider !== 'acp') {
    const only = { upstream_name, hosts, key: key?.header ?? key?.prefix };
    const given = Object.entries(only).filter(([, value]) => value !== undefined);
    return given.map(([at]) => [at, at === 'key' ? 'header and prefix are for acp' : 'is for acp']);
  }
  const holds = key?.header !== undefined;
  return [
    ...(key?.prefix !== undefined && !holds ? ([['key', 'has a prefix and no header']] as const) : []),
    ...(holds && upstream === undefined ? ([['key', 'has a header: name its upstream']] as const) : []),
    ...(holds && upstream_name === undefined ? ([['key', 'has a header: name its upstream_name']] as const) : []),
    ...(upstream_name !== undefined && upstream === undefined ? ([['upstream_name', 'needs upstream']] as const) : []),
  ].map(([at, message]) => [at, message]);
}

const workerFileName = 'worker.yaml';

/**
 * The machine owner's own file, `<worker home>/worker.yaml`; none is an empty one.
 *
 * @throws FarmError `misconfigured` with all that is wrong, each with its line; never a value
 */
export async function readWorkerFile(home: string): Promise<WorkerFile> {
  const { file, mistake } = await readHeldFile(home);
  if (mistake !== undefined) throw mistake;
  return file;
}

/** A file as far as it holds; with a mistake its accounts are left out, so that nothing runs on half of what the owner meant. */
export interface HeldFile {
  readonly file: WorkerFile;
  readonly mistake?: FarmError;
}

/** What the walls and the disk are ruled by. */
const WallsAlone = WorkerFileShape.pick({ sandbox: true, disk: true, workspaces: true }).loose();

/**
 * The same, for a worker that starts: a mistake in the accounts leaves it without them and does not end it.
 *
 * @throws FarmError `misconfigured` where somebody else may have written it, or what it says of the sandbox or the disk does not
 * hold: nobody may guess at walls
 */
export async function readHeldFile(home: string): Promise<HeldFile> {
  const path = join(home, workerFileName);
  const source = await readOwn(path);
  if (source === undefined) return { file: WorkerFile.parse({}) };
  const read = readCheckedYaml(source, WorkerFile);
  if (read.ok) return { file: read.value };
  const said = read.mistakes.map(({ line, message }) => `line ${line}: ${message}`).join('; ');
  const mistake = new FarmError('misconfigured', `${path} does not hold. ${said}.`, {
    hint: 'Correct it: accounts are read again within a minute, sandbox and disk when the worker starts.',
  });
  const walls = readCheckedYaml(source, WallsAlone);
  if (!walls.ok) throw mistake;
  const { sandbox, disk, workspaces } = walls.value;
  return { file: { accounts: {}, prices: {}, sandbox, disk, workspaces }, mistake };
}

/** What was judged is what is read: the file itself, no symlink to one of somebody else's. */
async function readOwn(file: string): Promise<string | undefined> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
    const code = systemCodeOf(error);
    if (code === 'ENOENT') return undefined;
    if (code !== 'ELOOP') throw error;
    throw new FarmError('misconfigured', `${file} is a symlink.`, {
      hint: 'Put the file itself there: its owner and its mode say whose word it is.',
    });
  });
  if (handle === undefined) return undefined;
  try {
    const seen = await handle.stat();
    if (!seen.isFile()) throw new FarmError('misconfigured', `${file} is no file.`, { hint: 'Put a file there.' });
    requireOwn(file, seen, 0o022, 'Others may write');
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/**
 * A path of the file: absolute, below the person's home with `~/`, else beside the file.
 */
export function pathIn(home: string, given: string): string {
  return given.startsWith('~/') ? join(homedir(), given.slice(2)) : resolve(home, given);
}

/**
 * The key that a reference names, without the line end.
 *
 * @throws FarmError `misconfigured` where it is missing, empty, or others may read it; never the key
 */
export async function readKey(
  home: string,
  { file, env }: KeyReference,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  if (file === undefined) return keyOf(environment[env ?? ''], `The variable ${env ?? ''} of the worker is not set.`);
  const at = pathIn(home, file);
  const text = await readIfThere(at);
  if (text !== undefined) requireOwn(at, await stat(at), 0o077, 'Others may read');
  return keyOf(text, `There is no key in ${at}.`);
}

function keyOf(text: string | undefined, missing: string): string {
  const key = text?.trim() ?? '';
  if (key !== '' && !/[\s\0]/.test(key)) return key;
  throw new FarmError('misconfigured', missing, { hint: 'Put the key there, alone on one line.' });
}

/** Of this user or root, and closed to those bits of others. */
function requireOwn(file: string, { mode, uid }: Stats, closed: number, what: string): void {
  const mine = process.getuid?.() ?? uid;
  if (uid !== mine && uid !== 0)
    throw new FarmError('misconfigured', `${file} belongs to somebody else.`, {
      hint: `chown it to the worker's user.`,
    });
  if ((mode & closed) === 0) return;
  const wanted = closed === 0o077 ? '600' : 'go-w';
  throw new FarmError('misconfigured', `${what} ${file}.`, { hint: `chmod ${wanted} '${file}'` });
}

/** Where the login of an account lies that names no folder, in the worker's home: no two names share one. */
export function loginFolder(home: string, account: string): string {
  return join(home, 'logins', account.replaceAll('/', '%2F'));
}
