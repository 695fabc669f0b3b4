import { limits, type TaskUsage } from '#contracts';
import type { Queries } from '#store';
import { type UsageSums, usageSql } from '../sql/usage.js';

/** What a Task has used so far, in all and by step; null where nobody said anything. */
export async function readUsage(queries: Queries, task: string): Promise<TaskUsage | null> {
  const sums = await queries.first(usageSql.ofTask, { task });
  if (!sums || sums.runs === 0) return null;
  const steps = await queries.all(usageSql.steps, { task, limit: limits.pageMax });
  return {
    ...shown(sums),
    ...(sums.billed_usd === null ? {} : { billed_usd: sums.billed_usd }),
    steps: steps.map((row) => ({
      ...shown(row),
      member_id: row.member,
      account: row.account,
      billing: row.billing,
      models: [...row.models],
      at: row.said_at.toISOString(),
    })),
  };
}

function shown({ requests, input_tokens, output_tokens, cache_read_tokens, cost_usd, unpriced_requests }: UsageSums) {
  return {
    requests,
    input_tokens,
    output_tokens,
    ...(cache_read_tokens > 0 ? { cache_read_tokens } : {}),
    ...(cost_usd === null ? {} : { cost_usd }),
    ...(unpriced_requests > 0 ? { unpriced_requests } : {}),
  };
}
