import { execa, type Options } from 'execa';
import type { Availability, AvailabilityWish } from '../port.js';

const lookMs = 20_000;

/** The oldest whose `app-server` and `exec` we have run. */
const oldest = [0, 171, 0] as const;

const look = (program: string, args: readonly string[], env: Options['env']) =>
  execa(program, args, { ...(env && { env }), extendEnv: false, timeout: lookMs, reject: false, stdin: 'ignore' });

/** Whether Codex is there, is new enough and has a login or a key. Asks nobody outside of this machine. */
export async function codexAvailability(
  wish: AvailabilityWish | undefined,
  environment: Readonly<Record<string, string>>,
): Promise<Availability> {
  const program = wish?.program ?? 'codex';
  const env = { ...environment, ...wish?.account?.environment };
  const told = await look(program, ['--version'], env);
  const version = /(\d+)\.(\d+)\.(\d+)/.exec(typeof told.stdout === 'string' ? told.stdout : '');
  if (told.failed || version === null)
    return unusable('environment', 'Codex can not be started on this machine.', installing);
  const [name] = version;
  if (isOlder(version.slice(1).map(Number), oldest))
    return unusable('environment', `Codex ${name} is too old for this worker.`, installing);
  const { account } = wish ?? {};
  const hasKey = account !== undefined && (Object.keys(account.secrets).length > 0 || account.upstream !== undefined);
  if (hasKey) return { usable: true, version: name };
  const login = await look(program, ['login', 'status', '-c', 'cli_auth_credentials_store="file"'], env);
  if (!login.failed) return { usable: true, version: name };
  return unusable(
    'auth',
    'Codex is not logged in.',
    'Run `longshore worker login codex` on this machine, or give the account a key.',
  );
}

const installing = 'Install it with `npm install -g @openai/codex` where the worker finds it on its PATH.';

/** Whether this Codex has its app-server; without it `exec` serves. */
export async function hasAppServer(program: string, environment: Readonly<Record<string, string>>): Promise<boolean> {
  if (known.has(program)) return true;
  const { failed } = await look(program, ['app-server', '--help'], environment);
  if (!failed) known.add(program);
  return !failed;
}

const known = new Set<string>();

function unusable(code: 'environment' | 'auth', reason: string, fix: string): Availability {
  return { usable: false, code, reason, fix };
}

function isOlder(version: readonly number[], than: readonly number[]): boolean {
  for (const [place, least] of than.entries()) {
    const number = version[place] ?? 0;
    if (number !== least) return number < least;
  }
  return false;
}
