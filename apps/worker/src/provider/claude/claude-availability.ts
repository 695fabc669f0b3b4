import { execa } from 'execa';
import { z } from 'zod';
import type { Availability, AvailabilityWish } from '../port.js';

/** The first version whose stream we know. */
const oldest = [2, 1, 197] as const;

const lookMs = 20_000;

const AuthStatus = z.looseObject({ loggedIn: z.boolean() });

/**
 * Whether Claude Code is there, is new enough and has a login: it is asked for both and spends nothing.
 * `environment` is the whole one, from an allow list.
 */
export async function claudeAvailability(
  wish: AvailabilityWish | undefined,
  environment: Readonly<Record<string, string>>,
): Promise<Availability> {
  const program = wish?.program ?? 'claude';
  const quiet = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' };
  const env = { ...environment, ...wish?.account?.environment, ...wish?.account?.secrets, ...quiet };
  const ask = (args: readonly string[]) =>
    execa(program, args, { env, extendEnv: false, timeout: lookMs, reject: false, stdin: 'ignore' });

  const told = await ask(['--version']);
  const version = /^(\d+)\.(\d+)\.(\d+)/.exec(told.stdout ?? '');
  if (told.failed || version === null) {
    return unusable('environment', 'Claude Code can not be started on this machine.', installing);
  }
  const [name = ''] = version;
  const numbers = version.slice(1).map(Number);
  if (isOlder(numbers, oldest)) {
    return unusable('environment', `Claude Code ${name} is too old for this worker.`, installing);
  }
  const status = await ask(['auth', 'status']);
  const login = parsed(status.stdout ?? '');
  // a version that says nothing of its login shows it at its first turn
  if (login === undefined || login.loggedIn) return { usable: true, version: name };
  return unusable(
    'auth',
    'Claude Code is not logged in.',
    'Run `longshore worker login claude` on this machine, or give the account a key.',
  );
}

const installing = 'Install it with `npm install -g @anthropic-ai/claude-code` where the worker finds it on its PATH.';

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

function parsed(text: string): z.output<typeof AuthStatus> | undefined {
  try {
    const content: unknown = JSON.parse(text);
    return AuthStatus.safeParse(content).data;
  } catch {
    return undefined;
  }
}
