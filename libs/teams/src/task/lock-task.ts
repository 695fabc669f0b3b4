import { FarmError } from '#contracts';
import type { Transaction } from '#store';
import type { TaskRow } from '../rows.js';
import { taskSql } from '../sql.js';

/** Locks the Task's row, first of all locks (H12). Within one transaction it may be done again. @throws not_found */
export async function lockTask(tx: Transaction, task: string): Promise<TaskRow> {
  const row = await tx.first(taskSql.lock, { task });
  if (!row) throw new FarmError('not_found', 'There is no such Task.');
  return row;
}
