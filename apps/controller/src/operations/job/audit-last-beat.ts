import type { Call } from '#gate';
import type { LeaseFence } from '#jobs';
import type { Transaction } from '#store';
import type { Services } from '../../farm.js';

type Lease = Pick<LeaseFence, 'job_id' | 'epoch'>;

/** At a lease's end its beats get their second row, with their number (A7.9). */
export async function auditLastBeat(call: Call<Services>, tx: Transaction, lease: Lease): Promise<void> {
  const past = await call.services.queue.pastLease(tx, lease.job_id, lease.epoch);
  if (past) noteLastBeat(call, lease, past.beats);
}

export function noteLastBeat({ audit }: Call<Services>, { job_id, epoch }: Lease, beats: number): void {
  if (beats > 1) audit.also('job_heartbeat', { job: job_id, epoch, count: beats });
}
