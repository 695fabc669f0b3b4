import { limits } from '#contracts';
import type { Queries } from '#store';
import type { TaskRow } from '../rows.js';
import { type SteerableRow, steerSql } from '../sql/steer.js';
import { actionIdOf } from '../task/actions.js';

/** Members that can be told something, each with the action for it: a hash over the facts that make it legal (§6.1 of the team rules). */
export async function steerActions(
  queries: Queries,
  task: TaskRow,
): Promise<readonly (SteerableRow & { readonly action_id: string })[]> {
  if (task.status !== 'running') return [];
  const rows = await queries.all(steerSql.steerable, { task: task.id });
  return rows
    .filter(({ steers }) => steers < limits.steersPerAssignment)
    .map((row) => ({ ...row, action_id: actionOf(task.id, row) }));
}

function actionOf(task: string, { member, assignment, attempt, dispatch, pins, steers }: SteerableRow): string {
  return actionIdOf([task, member, assignment, attempt, dispatch, pins.provider.kind, steers, 'steer']);
}
