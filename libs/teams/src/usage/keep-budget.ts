import { type Budget, FarmError } from '#contracts';
import type { Queries, Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import type { TaskRow } from '../rows.js';
import { type UsageSums, usageSql } from '../sql/usage.js';
import { pauseTask } from '../task/pause-task.js';

/**
 * Pauses a running Task that has reached its budget: what runs is stopped, captured and handed in; nothing new begins. The caller
 * holds the Task's lock. True: it is paused now.
 */
export async function keepBudget(parts: TeamParts, tx: Transaction, task: TaskRow): Promise<boolean> {
  if (task.status !== 'running') return false;
  const why = await reached(tx, task.id, task.settings.budget);
  if (why === undefined) return false;
  const detail = `${why} \`longshore task resume\` goes on with a larger budget.`;
  await pauseTask(parts, tx, task, { reason: 'budget_exhausted', detail, attention: 'budget_exhausted' });
  return true;
}

/** Before a Task goes on: with its budget used up it would pause at once. @throws budget_exhausted */
export async function requireBudget(queries: Queries, task: string, budget: Budget | undefined): Promise<void> {
  const why = await reached(queries, task, budget);
  if (why === undefined) return;
  throw new FarmError('budget_exhausted', why, {
    hint: 'Resume it with a larger budget: --budget 5usd, 200requests or 2000000tokens.',
  });
}

async function reached(queries: Queries, task: string, budget: Budget | undefined): Promise<string | undefined> {
  if (budget === undefined) return undefined;
  const used = await queries.first(usageSql.ofTask, { task });
  return used === undefined ? undefined : tellReached(budget, used);
}

/** Which limit is reached, for people. A price that nobody knows can not be kept within a sum of money. */
function tellReached({ usd, tokens, requests }: Budget, used: UsageSums): string | undefined {
  if (requests !== undefined && used.requests >= requests)
    return `The Task has made ${used.requests} of ${requests} requests.`;
  const all = used.input_tokens + used.output_tokens;
  if (tokens !== undefined && all >= tokens) return `The Task has used ${all} of ${tokens} tokens.`;
  if (usd === undefined) return undefined;
  if ((used.cost_usd ?? 0) >= usd)
    return `The Task has used ${(used.cost_usd ?? 0).toFixed(2)} of ${usd.toFixed(2)} USD at list price.`;
  if (used.unpriced_requests > 0)
    return `The price of ${used.unpriced_requests} requests is not known, so that a budget in USD can not be kept; give one in requests or tokens.`;
  return undefined;
}
