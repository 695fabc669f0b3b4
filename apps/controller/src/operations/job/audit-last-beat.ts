import type { Call } from '#gate';
import type { JobRow, LeaseFence } from '#jobs';
import type { Transaction } from '#store';
import type { Services } from '../../farm.js';

/** At a lease's end its beats get their second row, with their number (A7.9). A job without a phase was never beaten. */
export async function auditLastBeat(
  call: Call<Services>,
  tx: Transaction,
  fence: LeaseFence,
  job: JobRow | undefined,
): Promise<void> {
  if (!job || job.phase === null) return;
  const lease = await call.services.queue.pastLease(tx, fence.job_id, fence.epoch);
  if (lease && lease.beats > 1)
    call.audit.also('job_heartbeat', { job: fence.job_id, epoch: fence.epoch, count: lease.beats });
}
