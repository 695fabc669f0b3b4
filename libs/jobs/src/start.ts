import { type Queries, sentTogether, type Transaction } from '#store';
import { fenceOf, lockScope, type QueueContext } from './context.js';
import type { Holder, JobRow, LeaseFence, LockedJob } from './job.js';
import { leaseSql } from './sql/lease.js';
import { staleLease } from './stale.js';

/** The lease as it stands, unlocked. */
export async function heldLease(
  { seen }: QueueContext,
  queries: Queries,
  holder: Holder,
  fence: LeaseFence,
): Promise<JobRow | undefined> {
  const job = await queries.first(leaseSql.held, fenceOf(holder, fence));
  if (job) seen.set(queries, job);
  return job;
}

/**
 * Locks scope and job and checks the fence, for a call on behalf of the job; the first such call of a lease counts as its
 * `started` beat (D12).
 */
export async function markStarted<Read>(
  context: QueueContext,
  tx: Transaction,
  holder: Holder,
  fence: LeaseFence,
  read: (job: LockedJob) => Promise<Read>,
): Promise<{ readonly job: JobRow; readonly read: Read }> {
  const found = await findOnce(context, tx, fence.job_id);
  if (!found) throw staleLease();
  // In this order: the connection runs one after the other, so the fence and what else is read come after all waiting (H12).
  const fenced = sentTogether([
    lockScope(context, tx, found),
    tx.first(leaseSql.lockOnly, { job_id: fence.job_id }),
    tx.first(leaseSql.held, fenceOf(holder, fence)),
  ]);
  const reading = read(found);
  await Promise.allSettled([fenced, reading]);
  const [, , job] = await fenced;
  if (!job) throw staleLease();
  if (job.phase !== 'preparing') return { job, read: await reading };
  const started = await tx.first(leaseSql.start, { job_id: job.id });
  if (!started) throw staleLease();
  await context.kinds.get(started.kind)?.onStarted?.(tx, started);
  return { job: started, read: await read(started) };
}

/** Kind and scope of a job never change: whichever reading of this transaction told them. */
async function findOnce({ seen }: QueueContext, tx: Transaction, job_id: string): Promise<LockedJob | undefined> {
  const before = seen.get(tx);
  return before?.id === job_id ? before : await tx.first(leaseSql.find, { job_id });
}
