import { FarmError } from '#contracts';
import type { Transaction } from '#store';
import type { TaskRow } from '../rows.js';
import { taskSql } from '../sql/teams.js';

/** Locks the Task's row, first of all locks (H12). Within one transaction it may be done again. @throws not_found */
export async function lockTask(tx: Transaction, task: string): Promise<TaskRow> {
  const row = await tx.first(taskSql.lock, { task });
  if (!row) throw noSuchTask();
  return row;
}

/** The same lock for who reads the row behind it. @throws not_found */
export async function lockTaskOnly(tx: Transaction, task: string): Promise<void> {
  if (!(await tx.first(taskSql.lockOnly, { task }))) throw noSuchTask();
}

/** Of the jobs of a Task: their scope is its id. @throws not_found */
export async function lockScope(tx: Transaction, scope: string | null): Promise<void> {
  if (scope !== null) await lockTaskOnly(tx, scope);
}

function noSuchTask(): FarmError {
  return new FarmError('not_found', 'There is no such Task.');
}
