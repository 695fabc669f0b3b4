import { FarmError } from '#contracts';
import type { JobRow } from '#jobs';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import { assignmentSql, attentionSql } from '../sql/teams.js';
import { openLane, resumeTask } from '../task/resume-task.js';
import { readStanding } from './complete-dispatch.js';

/** H9: only the current Dispatch of its Assignment, and only while the Task runs. */
export async function requireRequeue(tx: Transaction, job: JobRow): Promise<void> {
  const { task, dispatch } = await readStanding(tx, job);
  if (dispatch.closed_at === null && task.status === 'running') return;
  throw new FarmError('not_resumable', 'This Dispatch is over, or its Task does not run.', {
    hint: '`longshore task get` shows what the Task waits for.',
  });
}

/**
 * Another life for an exhausted lane: its last Dispatch, and no other, gets an `operator_continue` (H9). A Task that had paused
 * because no lane could go on goes on with it.
 */
export async function redriveLane(parts: TeamParts, tx: Transaction, job: JobRow): Promise<'seen_to'> {
  const { task, assignment, dispatch } = await readStanding(tx, job);
  const lanes = await tx.all(assignmentSql.lanesToOpen, { task: task.id });
  const lane = lanes.find((open) => open.assignment === assignment.id && open.tail === dispatch.id);
  const stuck = task.status === 'paused' && task.pause_reason === 'runtime_recovery_exhausted';
  if (!lane || dispatch.closed_reason !== 'control_failed' || (task.status !== 'running' && !stuck)) {
    throw new FarmError('not_resumable', 'This is not the last Dispatch of an exhausted lane of a running Task.', {
      hint: '`longshore queue list` shows the jobs of the Task; `longshore task get` what may be done.',
    });
  }
  if (stuck) {
    await resumeTask(parts, tx, task, 'operator');
    return 'seen_to';
  }
  await tx.run(assignmentSql.clearRecoveries, { id: assignment.id });
  await openLane(parts, tx, task, lane, 'redriven');
  tx.later(attentionSql.closeOfJob, { job: dispatch.id, kind: 'lane_exhausted' });
  return 'seen_to';
}
