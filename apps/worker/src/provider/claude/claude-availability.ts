import { z } from 'zod';
import { askProgram, unusable, versionOf } from '../installed-program.js';
import type { Availability, AvailabilityWish } from '../port.js';

const claudeCode = {
  name: 'Claude Code',
  version: /^(\d+)\.(\d+)\.(\d+)/,
  oldest: [2, 1, 197],
  installing: 'Install it with `npm install -g @anthropic-ai/claude-code` where the worker finds it on its PATH.',
} as const;

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
  const found = await versionOf(program, env, claudeCode);
  if ('usable' in found) return found;
  const status = await askProgram(program, ['auth', 'status'], env);
  const login = parsed(status.stdout);
  // a version that says nothing of its login shows it at its first turn
  if (login === undefined || login.loggedIn) return { usable: true, version: found.version };
  return unusable(
    'auth',
    'Claude Code is not logged in.',
    'Run `longshore worker login claude` on this machine, or give the account a key.',
  );
}

function parsed(text: string): z.output<typeof AuthStatus> | undefined {
  try {
    const content: unknown = JSON.parse(text);
    return AuthStatus.safeParse(content).data;
  } catch {
    return undefined;
  }
}
