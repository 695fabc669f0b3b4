import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import type { AssignmentRow, DispatchRow, TaskRow } from '../rows.js';
import { assignmentSql } from '../sql/teams.js';
import { record } from '../task/events.js';
import { openAttention } from '../task/open-attention.js';
import { pauseTask } from '../task/pause-task.js';
import { closeDispatch } from './accept-work.js';

interface Exhaustion {
  /** For people: what was tried. */
  readonly why: string;
  readonly commit?: string | null;
}

/**
 * The lane can not go on by itself: its Dispatch closes `control_failed` and somebody is called. The caller ends the job. When no
 * lane of the Task goes on, the Task pauses (D4).
 */
export async function exhaustLane(
  parts: TeamParts,
  tx: Transaction,
  standing: { readonly task: TaskRow; readonly assignment: AssignmentRow; readonly dispatch: DispatchRow },
  { why, commit = null }: Exhaustion,
): Promise<void> {
  const { task, assignment, dispatch } = standing;
  await closeDispatch(tx, dispatch, 'control_failed', commit);
  const summary = `${assignment.member} can not go on: ${why}`;
  await openAttention(parts, tx, { task: task.id, job: dispatch.id, kind: 'lane_exhausted', summary });
  record(parts, tx, {
    task: task.id,
    type: 'lane_exhausted',
    source: 'controller',
    payload: { dispatch: dispatch.id, assignment: assignment.id, member: assignment.member, why },
  });
  await pauseIfStuck(parts, tx, task);
}

/** True: no lane could go on, and the Task is paused now. */
export async function pauseIfStuck(parts: TeamParts, tx: Transaction, task: TaskRow): Promise<boolean> {
  if (task.status !== 'running') return false;
  const lanes = await tx.first(assignmentSql.lanesGoingOn, { task: task.id });
  if (!lanes || lanes.open === 0 || lanes.going_on > 0) return false;
  await pauseTask(parts, tx, task, {
    reason: 'runtime_recovery_exhausted',
    detail: 'No member of the team can go on by itself. Resume gives each of them new tries.',
  });
  return true;
}
