import { FarmError } from '#contracts';
import type { Queries } from '#store';
import type { TaskRow } from '../rows.js';
import { assignmentSql, taskSql } from '../sql/teams.js';

interface Reading {
  readonly database: Queries;
}

/** What a Task has made so far. */
export interface TaskLine {
  readonly task: TaskRow;
  /** Nothing before it was prepared. */
  readonly line: { readonly base: string; readonly head: string } | undefined;
}

/** @throws not_found */
export async function lineOf(parts: Reading, id: string): Promise<TaskLine> {
  const task = await parts.database.first(taskSql.read, { task: id });
  if (!task) throw new FarmError('not_found', 'There is no such Task.');
  if (task.root_assignment === null) return { task, line: undefined };
  const root = await parts.database.first(assignmentSql.read, { id: task.root_assignment });
  return { task, line: root && { base: root.line_base, head: root.line_head } };
}

/** D7: where nothing changed there is nothing to bring anywhere. @throws not_found */
export async function changedLineOf(
  parts: Reading,
  id: string,
): Promise<{ readonly task: TaskRow; readonly base: string; readonly head: string }> {
  const { task, line } = await lineOf(parts, id);
  if (line && line.head !== line.base) return { task, ...line };
  throw new FarmError('not_found', 'Nothing was changed: there is no branch.');
}
