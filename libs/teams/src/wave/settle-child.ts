import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import type { AssignmentRow, Outcome } from '../rows.js';
import { waveSql } from '../sql/wave.js';

/**
 * A child has reported: its place in the Wave is settled, in the transaction of its report. The last one calls for the join, which
 * is a step of its own (D21), the others for what can be merged before it.
 */
export async function settleChild(
  parts: TeamParts,
  tx: Transaction,
  { id }: AssignmentRow,
  outcome: Outcome,
): Promise<void> {
  const settled = await tx.first(waveSql.settleMember, { assignment: id, outcome });
  if (!settled) throw new Error('a child without its place in an open Wave');
  const { pending } = (await tx.first(waveSql.pending, { wave: settled.wave })) ?? { pending: 0 };
  const tell = pending === 0 ? parts.onSettled : parts.onReported;
  tx.afterCommit(() => tell?.(settled.wave));
}
