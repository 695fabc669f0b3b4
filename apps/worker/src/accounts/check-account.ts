import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError, newId, type SessionUsage } from '#contracts';
import type { Log } from '../log.js';
import { instantOf, machineClock } from '../process/monotonic.js';
import type { SandboxPolicy } from '../process/sandbox/index.js';
import type { ProviderEvent, ProviderFailure } from '../provider/events.js';
import type { ProviderSession } from '../provider/port.js';
import { sessionEnvironment } from '../session/session-environment.js';
import { SessionPlace } from '../session/session-place.js';
import { UsageSum } from '../session/usage-sum.js';
import { folderAt } from '../workspace/owner-marker.js';
import { removeFolder } from '../workspace/remove-folder.js';
import type { WorkerHome } from '../workspace/worker-home.js';
import type { Accounts } from './accounts.js';

/** What one account can do, as far as a real turn shows. */
export interface AccountCheck {
  readonly account: string;
  readonly provider: string;
  readonly usable: boolean;
  readonly version?: string;
  /** Why not, and what mends it. */
  readonly reason?: string;
  readonly fix?: string;
  /** When an account that is limited goes on, ms from now. */
  readonly retry_after_ms?: number;
  readonly usage?: SessionUsage;
}

interface CheckNeeds {
  readonly home: WorkerHome;
  readonly sandboxes: SandboxPolicy;
  readonly accounts: Accounts;
  readonly log: Log;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Before a provider that says nothing is given up, ms. */
  readonly patienceMs?: number;
}

const patienceMs = 120_000;
const instructions = 'You check whether this machine can work with you. Use no tool.';
const input = 'Answer with the one word: ready';

/** The same for the provider that follows a script and reads no words. */
const scripted = 'steps: [{say: ready}, {usage: {requests: 1}}]';

/**
 * One real turn on the account, in the sandbox that its work would have, in an empty folder and with a door behind which nobody is.
 * It spends what one short answer costs.
 */
export async function checkAccount(needs: CheckNeeds, name: string): Promise<AccountCheck> {
  const { provider, found } = await needs.accounts.find(name);
  if (!found.usable) return { account: name, provider, usable: false, reason: found.reason, fix: found.fix };
  const version = found.version === undefined ? {} : { version: found.version };
  try {
    const { usage, failure } = await oneTurn(needs, name);
    const told = { account: name, provider, ...version, ...(usage.isEmpty ? {} : { usage: usage.total }) };
    return failure === undefined ? { ...told, usable: true } : { ...told, usable: false, ...tellFailure(failure) };
  } catch (error) {
    if (!(error instanceof FarmError)) throw error;
    const fix = error.hint ?? "See the worker's log.";
    return { account: name, provider, usable: false, reason: error.detail, fix };
  }
}

async function oneTurn(needs: CheckNeeds, name: string) {
  const { home, sandboxes, accounts, log, environment, signal } = needs;
  const { provider, account, program, arguments: rest } = await accounts.ready(name);
  const id = newId();
  const folder = folderAt(join(home.path, 'checks', id));
  for (const path of [folder.work, folder.state]) await mkdir(path, { recursive: true, mode: 0o700 });
  const usage = new UsageSum({ sinceEpoch: 1, account, prices: accounts.prices });
  const words = { ...(program === undefined ? {} : { program }), ...(rest === undefined ? {} : { arguments: rest }) };
  let place: SessionPlace | undefined;
  let session: ProviderSession | undefined;
  try {
    place = await SessionPlace.open(
      { home, sandboxes, log },
      folder,
      { provider, account, ...words, payload: { provider: provider.name } },
      nobody,
    );
    session = await provider.start({
      marker: { worker: `check-${process.pid}`, job: id, epoch: 1 },
      lease: { sentAt: instantOf(machineClock), leaseMs: needs.patienceMs ?? patienceMs },
      workspace: folder.work,
      stateFolder: folder.state,
      instructions,
      input: provider.name === 'scripted' ? scripted : input,
      // its folder is empty
      repositoryInstructions: true,
      ...place.requestParts(sessionEnvironment(environment)),
      ...words,
    });
    const failure = await Promise.race([
      untilTurnEnds(session, usage),
      timeOut(needs.patienceMs ?? patienceMs, signal),
    ]);
    return { usage, failure };
  } finally {
    await session?.stop({ graceMs: 0 });
    await place?.close();
    await removeFolder(folder.path);
  }
}

/** Nothing that a member could do happens in a check. */
const nobody = {
  exposure: { tools: [], humanKinds: [] },
  call: (): Promise<never> => Promise.reject(new FarmError('not_available', 'This is a check: there is no Task.')),
};

/** Undefined: the turn ended as it should. */
async function untilTurnEnds(session: ProviderSession, usage: UsageSum): Promise<ProviderFailure | undefined> {
  let failure: ProviderFailure | undefined;
  for await (const event of session.events) {
    if (event.type === 'usage') usage.add(event);
    if (event.type === 'failed') failure = event.failure;
    const over = endOf(event);
    if (over === 'finished') return failure;
    if (over === 'failed') break;
  }
  return failure ?? { class: 'crash', detail: 'The session ended without an answer.' };
}

function endOf(event: ProviderEvent): 'finished' | 'failed' | undefined {
  if (event.type === 'exit') return 'failed';
  if (event.type !== 'turn_end') return undefined;
  return event.how === 'finished' ? 'finished' : 'failed';
}

function timeOut(ms: number, signal: AbortSignal): Promise<ProviderFailure> {
  return new Promise((resolve) => {
    const end = (detail: string) => () => resolve({ class: 'overload', detail });
    setTimeout(end(`It gave no answer within ${Math.round(ms / 1000)} s.`), ms).unref();
    signal.addEventListener('abort', end('The check was broken off.'), { once: true });
  });
}

const fixes: Readonly<Record<ProviderFailure['class'], string>> = {
  auth: 'Log in with `longshore worker login`, or give the account a key that holds.',
  rate_limit: 'Wait until its limit ends, or name another account as its failover.',
  overload: 'Try again later.',
  invalid: 'Update the program; a model or setting of the account may be wrong.',
  crash: "See the worker's log and the program's own.",
  environment: '`longshore doctor` says what this machine lacks.',
};

function tellFailure(failure: ProviderFailure) {
  const limited = failure.class === 'rate_limit' ? { retry_after_ms: failure.retry_after_ms } : {};
  return { reason: `${failure.class}: ${failure.detail}`, fix: fixes[failure.class], ...limited };
}
