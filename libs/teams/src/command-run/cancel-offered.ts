import { type commandRunCancel, FarmError, type InputOf, type OutputOf, type Preview } from '#contracts';
import type { Queries, Transaction } from '#store';
import type { Actor } from '../api.js';
import type { TeamParts } from '../parts.js';
import type { CommandRunRow, TaskRow } from '../rows.js';
import { taskSql } from '../sql/teams.js';
import { lockTask } from '../task/lock-task.js';
import { cancelRun } from './cancel-run.js';
import { cancelAction } from './run-actions.js';
import { findRun } from './view-runs.js';

type Input = InputOf<typeof commandRunCancel>;

/** Ends a command by the action of a view; whoever waited for it goes on with that. @throws not_found, conflict */
export async function cancelOffered(
  parts: TeamParts,
  tx: Transaction,
  actor: Actor,
  input: Input,
): Promise<OutputOf<typeof commandRunCancel>> {
  const task = await lockTask(tx, input.task_id);
  const run = await offered(tx, task, input);
  const status = await cancelRun(parts, tx, { task, run }, { actor, why: 'a person cancelled the command' });
  return {
    command_id: run.name,
    status,
    continuation_pending: task.status === 'paused' && run.purpose === 'member',
  };
}

/** What the cancel would do, for who must confirm it. @throws not_found, conflict */
export async function previewCancel(tx: Transaction, input: Input): Promise<Preview> {
  const task = await tx.first(taskSql.read, { task: input.task_id });
  if (!task) throw new FarmError('not_found', 'There is no such Task.');
  const run = await offered(tx, task, input);
  const whose = run.purpose === 'verify' ? 'the verify command' : `the command of ${run.member}`;
  return {
    summary: `Ends ${whose}; what it did so far stays`,
    changes: [{ id: run.name, before: { state: run.state }, after: { state: 'cancelled' } }],
  };
}

async function offered(queries: Queries, task: TaskRow, input: Input): Promise<CommandRunRow> {
  const run = await findRun(queries, input);
  if (cancelAction(task, run) === input.action_id) return run;
  throw new FarmError('conflict', 'This command has ended, or is not as you saw it.', {
    hint: 'Read the command again and take the action from there.',
  });
}
