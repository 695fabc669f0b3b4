import type { TaskStatus } from '#contracts';
import type { Queries, Transaction } from '#store';
import type { Actor } from '../api.js';
import type { TeamParts } from '../parts.js';
import type { CommandRunRow, TaskRow } from '../rows.js';
import { commandRunSql } from '../sql.js';
import { record } from '../task/events.js';
import { endRun } from './end-run.js';

/** The team is done, and only the farm's own run of the verify command keeps the Task from its end. */
export async function verificationUnderWay(queries: Queries, task: string): Promise<CommandRunRow | undefined> {
  const run = await queries.first(commandRunSql.verification, { task });
  return run && run.ended_at === null ? run : undefined;
}

/**
 * A cancel while a Task is verified ends the command and loses nothing of the green work: the Task completes, not verified. At once
 * where nobody runs it; else when its worker has ended it, or is lost. The caller holds the Task's lock.
 */
export async function cancelVerification(
  parts: TeamParts,
  tx: Transaction,
  found: { readonly task: TaskRow; readonly run: CommandRunRow },
  actor: Actor,
): Promise<TaskStatus> {
  const { task, run } = found;
  record(parts, tx, {
    task: task.id,
    type: 'command_run_cancel_requested',
    source: 'operator',
    principal: actor.principal,
    payload: { command_id: run.name, purpose: run.purpose },
  });
  const why = 'the verification was cancelled';
  const ended = await parts.queue().endQueued(tx, task.id, why);
  if (ended.includes(run.id)) {
    await endRun(parts, tx, found, { state: 'cancelled' });
    return 'completed';
  }
  await parts.queue().flagEnd(tx, task.id, 'cancel', why);
  await tx.run(commandRunSql.requestCancel, { id: run.id });
  return task.status;
}
