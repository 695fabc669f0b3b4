import { statement } from '#store';

export interface UsageSums {
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cost_usd: number | null;
  readonly unpriced_requests: number;
}

export interface UsageRow extends UsageSums {
  readonly member: string;
  readonly account: string | null;
  readonly billing: 'plan' | 'metered' | null;
  readonly models: readonly string[];
  readonly said_at: Date;
}

const sums = `coalesce(sum(requests), 0)::bigint as requests, coalesce(sum(input_tokens), 0)::bigint as input_tokens,
  coalesce(sum(output_tokens), 0)::bigint as output_tokens, coalesce(sum(cache_read_tokens), 0)::bigint as cache_read_tokens,
  sum(cost_usd) as cost_usd, coalesce(sum(unpriced_requests), 0)::bigint as unpriced_requests`;

export const usageSql = {
  /**
   * A run's sum so far. greatest: sums only grow, and a beat that was overtaken on its road does not take one back. The lease's
   * fence was checked in this transaction.
   */
  say: statement<unknown>(
    'teams.usage_say',
    `insert into dispatch_usage as u (dispatch, since_epoch, task, member, account, billing, models, requests, input_tokens,
       output_tokens, cache_read_tokens, cost_usd, unpriced_requests)
     values ($dispatch, $since_epoch, $task, $member, $account, $billing, $models, $requests, $input_tokens, $output_tokens,
       $cache_read_tokens, $cost_usd, $unpriced_requests)
     on conflict (dispatch, since_epoch) do update set
       account = coalesce(excluded.account, u.account), billing = coalesce(excluded.billing, u.billing),
       models = case when cardinality(excluded.models) > cardinality(u.models) then excluded.models else u.models end,
       requests = greatest(u.requests, excluded.requests), input_tokens = greatest(u.input_tokens, excluded.input_tokens),
       output_tokens = greatest(u.output_tokens, excluded.output_tokens),
       cache_read_tokens = greatest(u.cache_read_tokens, excluded.cache_read_tokens),
       cost_usd = greatest(u.cost_usd, excluded.cost_usd),
       unpriced_requests = greatest(u.unpriced_requests, excluded.unpriced_requests), said_at = clock_timestamp()`,
  ),
  /** No row of the Task said anything: \`runs\` is 0. */
  ofTask: statement<UsageSums & { readonly runs: number; readonly billed_usd: number | null }>(
    'teams.usage_of_task',
    `select count(*) as runs, ${sums}, sum(cost_usd) filter (where billing = 'metered') as billed_usd
     from dispatch_usage where task = $task`,
  ),
  /** The last ones, in the order of their beginning. */
  steps: statement<UsageRow>(
    'teams.usage_steps',
    `select * from (
       select member, account, billing, models, requests, input_tokens, output_tokens, cache_read_tokens, cost_usd,
         unpriced_requests, began_at, said_at from dispatch_usage where task = $task order by began_at desc, dispatch limit $limit
     ) last order by began_at`,
  ),
  setBudget: statement<unknown>(
    'teams.task_set_budget',
    `update task set settings = jsonb_set(settings, '{budget}', $budget::jsonb) where id = $task`,
  ),
} as const;
