import type { Transaction } from '#store';
import { fenceOf, lockScope, type QueueContext } from './context.js';
import type { Holder, JobRow, LeaseFence } from './job.js';
import { leaseSql } from './sql/lease.js';
import { staleLease } from './stale.js';

/**
 * Locks scope and job and checks the fence, for a call on behalf of the job; the first such call of a lease counts as its
 * `started` beat (D12).
 */
export async function markStarted(
  context: QueueContext,
  tx: Transaction,
  holder: Holder,
  fence: LeaseFence,
): Promise<JobRow> {
  const found = await tx.first(leaseSql.find, { job_id: fence.job_id });
  if (!found) throw staleLease();
  await lockScope(context, tx, found);
  await tx.first(leaseSql.lock, { job_id: fence.job_id });
  const job = await tx.first(leaseSql.held, fenceOf(holder, fence));
  if (!job) throw staleLease();
  if (job.phase !== 'preparing') return job;
  const started = await tx.first(leaseSql.start, { job_id: job.id });
  if (!started) throw staleLease();
  await context.kinds.get(started.kind)?.onStarted?.(tx, started);
  return started;
}
