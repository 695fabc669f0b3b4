import type { CommandRunResult, CommandRunState } from '#contracts';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import type { CommandRunRow, TaskRow } from '../rows.js';
import { attentionSql, commandRunSql } from '../sql.js';
import { completeTask } from '../task/complete-task.js';
import { record } from '../task/events.js';

type TerminalState = Exclude<CommandRunState, 'pending_start' | 'running' | 'cancellation_requested'>;

export interface RunEnd {
  readonly state: TerminalState;
  readonly failureCode?: string;
  readonly detail?: string;
  /** Absent: its worker could not say anything. */
  readonly result?: CommandRunResult;
}

/**
 * Ends a Command Run, once, and tells it. Whoever waited for it goes on in the same transaction: a verification completes its Task,
 * whose green stands whatever the command said. The caller holds the Task's lock and ends the job.
 */
export async function endRun(
  parts: TeamParts,
  tx: Transaction,
  { task, run }: { readonly task: TaskRow; readonly run: CommandRunRow },
  end: RunEnd,
): Promise<void> {
  const { result } = end;
  const ended = await tx.first(commandRunSql.end, {
    id: run.id,
    state: end.state,
    exit_code: result?.exit_code ?? null,
    failure_code: end.failureCode ?? null,
    detail: end.detail ?? result?.detail ?? null,
    tail: result?.tail ?? '',
    isolation: result?.isolation === undefined ? null : JSON.stringify(result.isolation),
    observed_bytes: result?.output.observed_bytes ?? 0,
    written_bytes: result?.output.written_bytes ?? 0,
    output_complete: result?.output.complete ?? false,
  });
  if (!ended) return;
  tx.later(attentionSql.closeOfJob, { job: run.id, kind: 'no_machine' });
  record(parts, tx, {
    task: task.id,
    type: `command_run_${end.state}`,
    source: result === undefined ? 'controller' : 'node',
    payload: {
      command_id: run.name,
      purpose: run.purpose,
      exit_code: ended.exit_code,
      failure_code: ended.failure_code,
      detail: ended.detail,
    },
  });
  if (run.purpose === 'verify' && (task.status === 'running' || task.status === 'paused'))
    await completeTask(tx, task, 'green');
}
