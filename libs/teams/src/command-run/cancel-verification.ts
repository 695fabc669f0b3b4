import type { TaskStatus } from '#contracts';
import type { Queries, Transaction } from '#store';
import type { Actor } from '../api.js';
import type { TeamParts } from '../parts.js';
import type { CommandRunRow, TaskRow } from '../rows.js';
import { commandRunSql } from '../sql/teams.js';
import { cancelRun } from './cancel-run.js';

/** The team is done, and only the farm's own run of the verify command keeps the Task from its end. */
export async function verificationUnderWay(queries: Queries, task: string): Promise<CommandRunRow | undefined> {
  const run = await queries.first(commandRunSql.verification, { task });
  return run && run.ended_at === null ? run : undefined;
}

/**
 * A cancel while a Task is verified ends the command and loses nothing of the green work: the Task completes, not verified. The
 * caller holds the Task's lock.
 */
export async function cancelVerification(
  parts: TeamParts,
  tx: Transaction,
  found: { readonly task: TaskRow; readonly run: CommandRunRow },
  actor: Actor,
): Promise<TaskStatus> {
  const ended = await cancelRun(parts, tx, found, { actor, why: 'the verification was cancelled' });
  return ended === 'cancelled' ? 'completed' : found.task.status;
}
