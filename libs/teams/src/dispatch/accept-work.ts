import { FarmError } from '#contracts';
import type { JobRow } from '#jobs';
import type { Transaction } from '#store';
import type { AssignmentRow, ClosedReason, DispatchRow } from '../rows.js';
import { assignmentSql, dispatchSql, rescueSql } from '../sql/teams.js';

/**
 * Moves the Assignment's line to the captured commit: finished or not, every accepted capture is where its successor starts. Null:
 * nothing changed, nothing moves (D7). Answers the Assignment as it is now.
 */
export async function acceptWork(
  tx: Transaction,
  job: JobRow,
  dispatch: Pick<DispatchRow, 'base'>,
  assignment: AssignmentRow,
  commit: string | null,
): Promise<AssignmentRow> {
  if (commit === null) return assignment;
  const moved = await tx.run(assignmentSql.moveLine, { id: assignment.id, from: dispatch.base, to: commit });
  if (moved !== 1) throw new FarmError('conflict', 'The line has moved since this work was begun.');
  tx.later(rescueSql.accepted, { job: job.id, epoch: job.epoch, commit });
  return { ...assignment, line_head: commit };
}

/** The first end is the last one. */
export async function closeDispatch(
  tx: Transaction,
  dispatch: DispatchRow,
  reason: ClosedReason,
  commit: string | null,
): Promise<void> {
  const closed = await tx.first(dispatchSql.close, { id: dispatch.id, reason, commit });
  if (!closed) throw new FarmError('conflict', 'The Dispatch is closed already.');
}
