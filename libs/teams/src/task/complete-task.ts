import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import type { Outcome, TaskRow } from '../rows.js';
import { attentionSql, taskSql } from '../sql/teams.js';
import { announce } from '../webhook/announce.js';

/** The root's word is the Task's: no event of its own beside `boundary_accepted` (I7). The caller holds the Task's lock. */
export async function completeTask(
  parts: Pick<TeamParts, 'queue'>,
  tx: Transaction,
  task: TaskRow,
  outcome: Outcome,
): Promise<void> {
  const done = await tx.first(taskSql.move, {
    task: task.id,
    from: task.status,
    to: 'completed',
    outcome,
    reason: null,
    detail: null,
    step: 0,
  });
  if (!done) throw new Error('the Task was not as it stood under its lock');
  tx.later(attentionSql.closeOfTask, {
    task: task.id,
    kinds: ['lane_exhausted', 'no_machine', 'source_unavailable', 'budget_exhausted', 'policy_refused', 'setup_failed'],
  });
  await announce(parts, tx, task.id, { event: 'task_completed' });
}
