import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import { FarmError, isFarmErrorCode, SessionUsage } from '#contracts';
import { childEnvironment } from '../services/child-environment.js';
import { accountVariables } from './account-variables.js';
import { programOf } from './programs.js';

/** What the worker tells of its accounts. */
export const WorkerAccounts = z.object({
  accounts: z.array(
    z.object({
      account: z.string(),
      provider: z.string(),
      /** The owner's file names it. */
      configured: z.boolean(),
      usable: z.boolean(),
      version: z.string().optional(),
      reason: z.string().optional(),
      fix: z.string().optional(),
      retry_after_ms: z.number().optional(),
      usage: SessionUsage.optional(),
    }),
  ),
});

const Fault = z.object({
  fault: z.object({ code: z.string(), detail: z.string(), hint: z.string().optional() }),
});

interface AccountsCall {
  readonly home: string;
  /** `list`, `check [account]`, `login <provider> [account]`. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/**
 * Asks the worker of this machine about its accounts; a login speaks to this terminal itself. Its answer has the shape given.
 *
 * @throws FarmError what the worker says is wrong
 */
export async function askWorkerAccounts<T>({ home, args, env, signal }: AccountsCall, shape: z.ZodType<T>): Promise<T> {
  const { stdout } = await execa(process.execPath, [programOf('worker', 'accounts-main'), ...args], {
    env: {
      ...childEnvironment(),
      ...(await accountVariables(home, env)),
      LONGSHORE_WORKER_HOME: home,
      LONGSHORE_LOG_LEVEL: 'error',
    },
    extendEnv: false,
    stdin: 'inherit',
    stderr: 'inherit',
    cancelSignal: signal,
    // it ends the agent that it has started
    forceKillAfterDelay: 15_000,
    reject: false,
  });
  const answer = lastLine(stdout);
  const fault = Fault.safeParse(answer).data?.fault;
  if (fault === undefined) {
    const read = shape.safeParse(answer);
    if (read.success) return read.data;
  }
  const code = fault !== undefined && isFarmErrorCode(fault.code) ? fault.code : 'internal';
  const hint = fault?.hint === undefined ? {} : { hint: fault.hint };
  throw new FarmError(code, fault?.detail ?? 'The worker gave no answer about its accounts.', hint);
}

function lastLine(text: string): unknown {
  try {
    return JSON.parse(text.trim().split('\n').at(-1) ?? '');
  } catch {
    return undefined;
  }
}

/** The worker's folder on this machine: the one of `worker --join`, or the only one of `up`. */
export function workerHomeOf(data: string, env: Readonly<Record<string, string | undefined>>): string {
  const given = env.LONGSHORE_WORKER_HOME;
  const joined = join(data, 'worker');
  if (given !== undefined || existsSync(joined)) return given ?? joined;
  const embedded = join(data, 'workers');
  const [first, ...more] = existsSync(embedded) ? readdirSync(embedded).sort() : [];
  if (more.length > 0)
    throw new FarmError('invalid_input', `There are several workers in ${embedded}.`, {
      hint: `Name one with --home, as --home '${join(embedded, first ?? '')}'.`,
    });
  return first === undefined ? joined : join(embedded, first);
}
