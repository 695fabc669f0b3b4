import type { SessionUsage } from '#contracts';
import type { Transaction } from '#store';
import type { DispatchRow } from '../rows.js';
import { usageSql } from '../sql/usage.js';

/** What a run of this Dispatch has used so far; the caller checked the lease's fence, whose epoch this is. */
export async function recordUsage(
  tx: Transaction,
  { id, task, pins }: Pick<DispatchRow, 'id' | 'task' | 'pins'>,
  epoch: number,
  usage: SessionUsage,
): Promise<void> {
  await tx.run(usageSql.say, {
    dispatch: id,
    // A run that says it began after its own lease says nothing that can be true.
    since_epoch: Math.min(usage.since_epoch ?? epoch, epoch),
    task,
    member: pins.member,
    account: usage.account ?? null,
    billing: usage.billing ?? null,
    models: [...(usage.models ?? [])],
    requests: usage.requests,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    cache_read_tokens: usage.cache_read_tokens ?? 0,
    cost_usd: usage.cost_usd ?? null,
    unpriced_requests: usage.unpriced_requests ?? 0,
  });
}
