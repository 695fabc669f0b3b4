import { FarmError } from '#contracts';
import type { JobRow } from '#jobs';
import type { Transaction } from '#store';
import type { PreparedEnd } from '../dispatch/prepare-end.js';
import type { TeamParts } from '../parts.js';
import { assignmentSql, attentionSql, dispatchSql } from '../sql/teams.js';
import type { Standing } from './handover-rule.js';
import { ruleOf } from './handover-rules.js';
import { findHandover, voidHandover } from './kept-handover.js';
import { asRefusal } from './refusal.js';

/** The work has arrived: the handover that was kept is checked again and applied, whole (H1). @throws handover_refused */
export async function applyHandover(
  parts: TeamParts,
  tx: Transaction,
  job: JobRow,
  standing: Standing,
  prepared: PreparedEnd,
): Promise<void> {
  const { handover } = prepared;
  if (!handover) throw new FarmError('handover_refused', 'No handover of this lease was kept.');
  await checkAgain(parts, tx, job, standing, handover);
  const { assignment, dispatch } = standing;
  const { body } = handover.kept;
  tx.later(dispatchSql.addHandover, {
    dispatch: dispatch.id,
    epoch: job.epoch,
    kind: body.kind,
    call_id: handover.callId,
    body: JSON.stringify(body),
    commit: prepared.commit,
    result: JSON.stringify(prepared.result),
  });
  // D4: what was accepted shows that the lane lives.
  tx.later(assignmentSql.clearRecoveries, { id: assignment.id });
  tx.later(attentionSql.closeOfJob, { job: dispatch.id, kind: 'no_machine' });
  const { result, commit } = prepared;
  await ruleOf(body).apply(parts, tx, standing, { job, result, commit });
}

/** Between the call and the work only Task control could come in; whatever it was, the same rules decide (D1). */
async function checkAgain(
  parts: TeamParts,
  tx: Transaction,
  job: JobRow,
  standing: Standing,
  handover: NonNullable<PreparedEnd['handover']>,
): Promise<void> {
  try {
    const { kept } = await findHandover(tx, job.id, job.epoch);
    if (kept?.origin !== handover.kept.origin) throw new FarmError('stale_dispatch', 'The handover is void.');
    await ruleOf(handover.kept.body).check(tx, standing);
  } catch (error) {
    if (!(error instanceof FarmError)) throw error;
    // Not awaited: this transaction is about to be undone and must not wait for a second connection.
    parts.database.transaction((other) => voidHandover(other, job.id, handover.key)).catch(() => {});
    throw asRefusal(error);
  }
}
