import { FarmError } from '#contracts';
import type { JobClaims, Principal } from '#gate';
import type { Queue } from '#jobs';
import type { Transaction } from '#store';

/** Errors: FarmError stale_lease when the lease that a job token names is no longer this worker's and boot's (D17, H14). */
export async function checkLease(
  queue: Queue,
  tx: Transaction,
  principal: Principal,
  { job, epoch, lease_id }: JobClaims,
): Promise<void> {
  if (principal.kind !== 'worker') throw new FarmError('stale_lease');
  const holder = { worker: principal.id, boot: principal.boot };
  if (!(await queue.heldLease(tx, holder, { job_id: job, epoch, lease_id }))) throw new FarmError('stale_lease');
}
