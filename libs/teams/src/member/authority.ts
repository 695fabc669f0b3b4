import { FarmError } from '#contracts';
import type { JobRow } from '#jobs';
import { sentTogether, type Transaction } from '#store';
import type { MemberCaller } from '../api.js';
import { checkSelection } from '../checkpoint/check-checkpoint.js';
import { readStanding } from '../dispatch/complete-dispatch.js';
import type { Standing } from '../handover/handover-rule.js';
import { findHandover } from '../handover/kept-handover.js';
import type { TeamParts } from '../parts.js';

export interface Authority extends Standing {
  readonly job: JobRow;
  /** The place of the handover at this epoch; `kept` when the Dispatch has handed over. */
  readonly handover: Awaited<ReturnType<typeof findHandover>>;
}

/**
 * Who calls is told by the lease, never by the call: Task and job locked in that order, the fence read after all waiting, then
 * what must hold for any member operation (§3.3 of the team rules). A call before the `started` beat counts as it (D12).
 *
 * @throws stale_lease, scope_mismatch, stale_dispatch, stale_assignment
 */
export async function authorize(parts: TeamParts, tx: Transaction, caller: MemberCaller): Promise<Authority> {
  const { job: job_id, epoch, lease_id, worker, boot } = caller;
  const { job, read } = await parts
    .queue()
    .markStarted(tx, { worker, boot }, { job_id, epoch, lease_id }, async (locked) =>
      locked.kind === 'dispatch'
        ? await sentTogether([readStanding(tx, locked), findHandover(tx, locked.id, epoch)])
        : undefined,
    );
  if (!read) throw new FarmError('scope_mismatch', 'Only the member of a Dispatch may call this.');
  const [standing, handover] = read;
  const { task, dispatch, assignment } = standing;
  if (task.status !== 'running') throw new FarmError('stale_dispatch', 'The Task does not run.', stop);
  if (dispatch.closed_at !== null) throw new FarmError('stale_dispatch', 'The Dispatch is over.', stop);
  if (assignment.closed_at !== null || assignment.attempt !== dispatch.attempt)
    throw new FarmError('stale_assignment', undefined, stop);
  await checkSelection(tx, standing);
  return { ...standing, job, handover };
}

const stop = { hint: 'Stop: nothing that you call is done any more.' };

/** After a handover nothing but the same handover is answered (I5, D2). */
export function refuseAfterHandover({ handover }: Pick<Authority, 'handover'>): void {
  if (handover.kept) throw new FarmError('stale_dispatch', 'This Dispatch has handed over.', stop);
}
