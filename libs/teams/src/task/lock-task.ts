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

function noSuchTask(): FarmError {
  return new FarmError('not_found', 'There is no such Task.');
}
