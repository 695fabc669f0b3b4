import type { Transaction } from '#store';
import { lockScope, type QueueContext } from './context.js';
import { leave } from './leave.js';
import { leaseSql } from './sql/lease.js';
import { queueSql } from './sql/queue.js';

/** Takes all leases of a holder away: what was flagged for its end ends, the rest is queued again at once and counts no try. */
export async function releaseHolder(
  context: QueueContext,
  tx: Transaction,
  holder: string,
  note: string,
): Promise<readonly string[]> {
  const leased = await tx.all(queueSql.leasedBy, { holder });
  for (const job of leased) await lockScope(context, tx, job);
  const released: string[] = [];
  for (const { id } of leased) {
    const job = await tx.first(leaseSql.lock, { job_id: id });
    // Settled, or lost to another, while its lock was waited for.
    if (job?.state !== 'leased' || job.holder !== holder) continue;
    const kind = context.kinds.get(job.kind);
    if (job.end_kind === 'cancel') {
      await kind?.onCancelled(tx, job, 'expired');
      await leave(context, tx, id, { next: 'cancelled', note: job.end_reason ?? 'cancelled' }, { how: 'cancelled' });
    } else {
      await kind?.onRequeue?.(tx, job);
      await leave(context, tx, id, { next: 'queue', note }, { how: 'requeued' });
    }
    released.push(id);
  }
  return released;
}
