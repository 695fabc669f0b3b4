import { FarmError } from '#contracts';
import type { JobRow } from '#jobs';
import type { Transaction } from '#store';
import { openVerify } from '../command-run/open-verify.js';
import type { TeamParts } from '../parts.js';
import type { CheckpointBody, Outcome } from '../rows.js';
import { assignmentSql, attentionSql, dispatchSql } from '../sql.js';
import { completeTask } from '../task/complete-task.js';
import { record } from '../task/events.js';
import { closeDispatch } from './accept-work.js';
import { checkCheckpoint, type Standing } from './check-checkpoint.js';
import { handoverEnds } from './ends.js';
import { findHandover, voidHandover } from './kept-handover.js';
import { openDispatch } from './open-dispatch.js';
import { asRefusal, type PreparedEnd } from './prepare-end.js';

/** The work has arrived: the checkpoint that was kept is checked again and applied, whole (H1). @throws handover_refused */
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
  const { task, assignment, dispatch } = standing;
  const { checkpoint } = handover.kept;
  if (checkpoint.outcome === undefined) throw new Error('a kept handover has an outcome');
  const rule = handoverEnds[checkpoint.outcome];

  tx.later(dispatchSql.addHandover, {
    dispatch: dispatch.id,
    epoch: job.epoch,
    call_id: handover.callId,
    body: JSON.stringify(checkpoint),
    commit: prepared.commit,
    result: JSON.stringify(prepared.result),
  });
  recordCheckpoint(parts, tx, standing, checkpoint);
  await closeDispatch(tx, dispatch, rule.closed, prepared.commit);
  record(parts, tx, {
    task: task.id,
    type: 'boundary_accepted',
    source: 'node',
    payload: {
      dispatch: dispatch.id,
      assignment: assignment.id,
      attempt: assignment.attempt,
      member: assignment.member,
      outcome: checkpoint.outcome,
      checkpoint: checkpoint.id,
      summary: checkpoint.summary,
      files: checkpoint.files,
      commit: prepared.commit,
      root: assignment.parent === null,
      ...(prepared.result.usage === undefined ? {} : { usage: prepared.result.usage }),
    },
  });
  // D4: what was accepted shows that the lane lives.
  tx.later(assignmentSql.clearRecoveries, { id: assignment.id });
  tx.later(attentionSql.closeOfJob, { job: dispatch.id, kind: 'no_machine' });
  if (rule.assignment === 'open') return tryAgain(parts, tx, standing, checkpoint);
  tx.later(assignmentSql.close, { id: assignment.id, outcome: rule.assignment });
  if (assignment.id === task.root_assignment) await endTeam(parts, tx, standing, rule.assignment);
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
    await checkCheckpoint(tx, standing, handover.kept.checkpoint);
  } catch (error) {
    if (!(error instanceof FarmError)) throw error;
    // Not awaited: this transaction is about to be undone and must not wait for a second connection.
    parts.database.transaction((other) => voidHandover(other, job.id, handover.key)).catch(() => {});
    throw asRefusal(error);
  }
}

/** The root's word is the Task's; a green one is verified first, where that was asked for. */
async function endTeam(parts: TeamParts, tx: Transaction, standing: Standing, outcome: Outcome): Promise<void> {
  const lanes = await tx.first(assignmentSql.lanesGoingOn, { task: standing.task.id });
  if (lanes && lanes.open > 0) throw asRefusal(new FarmError('illegal_state', 'A part of the team is still at work.'));
  if (outcome === 'green' && standing.task.settings.verify !== undefined) await openVerify(parts, tx, standing);
  else await completeTask(tx, standing.task, outcome);
}

/** The row and its fact, for progress and for a boundary alike. */
export function recordCheckpoint(
  parts: TeamParts,
  tx: Transaction,
  { task, assignment, dispatch }: Standing,
  checkpoint: CheckpointBody,
): void {
  tx.later(dispatchSql.addCheckpoint, {
    id: checkpoint.id,
    task: task.id,
    assignment: assignment.id,
    dispatch: dispatch.id,
    attempt: assignment.attempt,
    member: assignment.member,
    config_id: dispatch.pins.config_id,
    basis_id: dispatch.pins.basis_id,
    summary: checkpoint.summary,
    details: checkpoint.details ?? null,
    files: JSON.stringify(checkpoint.files),
    outcome: checkpoint.outcome ?? null,
  });
  record(parts, tx, {
    task: task.id,
    type: 'checkpoint_recorded',
    source: 'node',
    payload: {
      checkpoint: checkpoint.id,
      dispatch: dispatch.id,
      member: assignment.member,
      outcome: checkpoint.outcome ?? null,
      summary: checkpoint.summary,
    },
  });
}

async function tryAgain(
  parts: TeamParts,
  tx: Transaction,
  { task, assignment, dispatch }: Standing,
  checkpoint: CheckpointBody,
): Promise<void> {
  const next = await tx.first(assignmentSql.nextAttempt, { id: assignment.id });
  if (!next) throw asRefusal(new FarmError('budget_exhausted', 'All attempts of this Assignment are used up.'));
  const { id: _, ...told } = checkpoint;
  await openDispatch(
    parts,
    tx,
    task,
    { ...assignment, attempt: next.attempt, recoveries: 0 },
    {
      reason: 'semantic_retry',
      causedBy: dispatch.id,
      continuation: {
        kind: 'semantic_retry',
        source_dispatch: dispatch.id,
        previous_attempt: `${assignment.id}.${assignment.attempt}`,
        checkpoint: told,
      },
    },
  );
}
