import { FarmError } from '#contracts';
import type { JobRow } from '#jobs';
import type { TeamParts } from '../parts.js';
import type { LeaseShown } from './roads.js';

/** The job of a lease, while it is held by who shows it. */
export function liveLease(
  parts: Pick<TeamParts, 'queue' | 'database'>,
  { job: job_id, epoch, lease_id, worker, boot }: LeaseShown,
): Promise<JobRow | undefined> {
  return parts.queue().heldLease(parts.database, { worker, boot }, { job_id, epoch, lease_id });
}

/** The same, for who does nothing without it. @throws stale_lease */
export async function requireLive(parts: Pick<TeamParts, 'queue' | 'database'>, lease: LeaseShown): Promise<JobRow> {
  const job = await liveLease(parts, lease);
  if (job) return job;
  throw new FarmError('stale_lease');
}
