import type { Call } from '#gate';
import type { LeaseFence } from '#jobs';
import type { Transaction } from '#store';
import type { Services } from '../../farm.js';

/** At a lease's end its beats get their second row, with their number (A7.9). */
export async function auditLastBeat(call: Call<Services>, tx: Transaction, fence: LeaseFence): Promise<void> {
  const lease = await call.services.queue.pastLease(tx, fence.job_id, fence.epoch);
  if (lease && lease.beats > 1)
    call.audit.also('job_heartbeat', { job: fence.job_id, epoch: fence.epoch, count: lease.beats });
}
