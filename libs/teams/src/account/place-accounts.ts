import { DispatchPayload, limits } from '#contracts';
import type { AccountState, JobRow } from '#jobs';
import type { TeamParts } from '../parts.js';
import { dispatchSql } from '../sql/teams.js';
import { lockTask } from '../task/lock-task.js';
import { chooseAccount, type Machine } from './choose-account.js';

/**
 * Jobs that wait under an account that no machine offers any more, that is paused, or whose machines failed them (H11), go under
 * one that can run them, as far as their Task and the machines' owners allow. Answers the jobs that were moved.
 */
export async function placeAccounts(parts: TeamParts, machines: readonly Machine[]): Promise<readonly string[]> {
  const waitedFor = await parts.queue().accountsWaitedFor(parts.database);
  if (waitedFor.length === 0) return [];
  const states = await parts.queue().accounts(parts.database);
  const offered = new Set(machines.flatMap(({ offers }) => offers.map(({ name }) => name)));
  const stuck = waitedFor.filter((name) => !offered.has(name) || isPaused(states, name));
  const moved: string[] = [];
  for (const job of await parts.queue().waitingOnAccounts(parts.database, stuck)) {
    try {
      if (await place(parts, job, machines, states)) moved.push(job.id);
    } catch (error) {
      parts.onTrouble?.(error, job.scope ?? job.id);
    }
  }
  return moved;
}

const isPaused = (states: readonly AccountState[], name: string): boolean =>
  states.some(({ account, paused_ms }) => account === name && paused_ms !== null);

async function place(
  parts: TeamParts,
  job: JobRow,
  machines: readonly Machine[],
  states: readonly AccountState[],
): Promise<boolean> {
  const payload = DispatchPayload.safeParse(job.payload).data;
  const dispatch = await parts.database.first(dispatchSql.read, { id: job.id });
  if (payload === undefined || dispatch === undefined || job.scope === null) return false;
  const { kind: provider, account: named } = dispatch.pins.provider;
  const able = machines.filter(({ id }) => !job.excluded.includes(id));
  const account = chooseAccount({ provider, named, pool: job.pool, labels: job.labels }, able, states);
  if (account === undefined || account === job.account) return false;
  // a machine that is away for a moment comes back for its frozen session (D11): nothing moves to where nobody is
  if (!able.some(({ offers }) => offers.some(({ name }) => name === account))) return false;
  const { scope, id } = job;
  return parts.database.transaction(async (tx) => {
    await lockTask(tx, scope);
    return parts.queue().useAccount(tx, id, { account, payload: { ...payload, account } });
  });
}

/** What a wait for accounts looks like to a person; at most so many are told. */
export function pauseText({ account, paused_ms, paused_reason }: AccountState, now: Date = new Date()): string {
  const until = new Date(now.getTime() + (paused_ms ?? 0)).toISOString();
  const why = paused_reason === null ? '' : ` (${paused_reason})`;
  return `The account ${account} is paused until ${until}${why}.`.slice(0, limits.failDetailBytes);
}
