import type { Transaction } from '#store';
import type { Actor } from '../api.js';
import type { TeamParts } from '../parts.js';
import type { CommandRunRow, TaskRow } from '../rows.js';
import { commandRunSql } from '../sql/teams.js';
import { record } from '../task/events.js';
import { endRun } from './end-run.js';

/**
 * Asks for the end of a Command Run: at once where nobody has it, else when its worker has ended it, or is lost. The caller holds
 * the Task's lock and has seen that the run goes on.
 */
export async function cancelRun(
  parts: TeamParts,
  tx: Transaction,
  { task, run }: { readonly task: TaskRow; readonly run: CommandRunRow },
  { actor, why }: { readonly actor: Actor; readonly why: string },
): Promise<'cancelled' | 'cancelling'> {
  record(parts, tx, {
    task: task.id,
    type: 'command_run_cancel_requested',
    source: 'operator',
    principal: actor.principal,
    payload: { command_id: run.name, purpose: run.purpose, member: run.member },
  });
  await tx.first(commandRunSql.requestCancel, { id: run.id, by: actor.principal });
  if ((await parts.queue().endJob(tx, run.id, why)) === 'told') return 'cancelling';
  await endRun(parts, tx, { task, run: { ...run, ended_by: actor.principal } }, { state: 'cancelled' });
  return 'cancelled';
}
