import { askProgram, unusable, versionOf } from '../installed-program.js';
import type { Availability, AvailabilityWish } from '../port.js';

const codex = {
  name: 'Codex',
  version: /(\d+)\.(\d+)\.(\d+)/,
  /** The oldest whose `app-server` and `exec` we have run. */
  oldest: [0, 171, 0],
  installing: 'Install it with `npm install -g @openai/codex` where the worker finds it on its PATH.',
} as const;

/** Whether Codex is there, is new enough and has a login or a key. Asks nobody outside of this machine. */
export async function codexAvailability(
  wish: AvailabilityWish | undefined,
  environment: Readonly<Record<string, string>>,
): Promise<Availability> {
  const program = wish?.program ?? 'codex';
  const env = { ...environment, ...wish?.account?.environment };
  const found = await versionOf(program, env, codex);
  if ('usable' in found) return found;
  const { account } = wish ?? {};
  const hasKey = account !== undefined && (Object.keys(account.secrets).length > 0 || account.upstream !== undefined);
  if (hasKey) return { usable: true, version: found.version };
  const login = await askProgram(program, ['login', 'status', '-c', 'cli_auth_credentials_store="file"'], env);
  if (!login.failed) return { usable: true, version: found.version };
  return unusable(
    'auth',
    'Codex is not logged in.',
    'Run `longshore worker login codex` on this machine, or give the account a key.',
  );
}

/** Whether this Codex has its app-server; without it `exec` serves. */
export async function hasAppServer(program: string, environment: Readonly<Record<string, string>>): Promise<boolean> {
  if (known.has(program)) return true;
  const { failed } = await askProgram(program, ['app-server', '--help'], environment);
  if (!failed) known.add(program);
  return !failed;
}

const known = new Set<string>();
