import type { Transaction } from '#store';
import type { Standing } from '../handover/handover-rule.js';
import type { TeamParts } from '../parts.js';
import type { CheckpointBody } from '../rows.js';
import { dispatchSql } from '../sql/teams.js';
import { record } from '../task/events.js';

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
