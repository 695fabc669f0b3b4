import type { CommandRunResult, CommandRunState } from '#contracts';
import type { JobRow } from '#jobs';
import type { Transaction } from '#store';
import { acceptWork } from '../dispatch/accept-work.js';
import { noteSetup } from '../dispatch/note-setup.js';
import type { TeamParts } from '../parts.js';
import type { CommandRunRow, TaskRow } from '../rows.js';
import { assignmentSql, attentionSql, commandRunSql, rescueSql } from '../sql/teams.js';
import { completeTask } from '../task/complete-task.js';
import { record } from '../task/events.js';
import { goOnAfterRun } from './go-on-after-run.js';

type TerminalState = Exclude<CommandRunState, 'pending_start' | 'running' | 'cancellation_requested'>;

export interface RunEnd {
  readonly state: TerminalState;
  readonly failureCode?: string;
  readonly detail?: string;
  /** Absent: its worker could not say anything. */
  readonly result?: CommandRunResult;
  /** What it changed, arrived under this job; null: nothing (D7). */
  readonly work?: { readonly job: JobRow; readonly commit: string | null };
}

interface Found {
  readonly task: TaskRow;
  readonly run: CommandRunRow;
}

/**
 * Ends a Command Run, once, and tells it. Whoever waited for it goes on in the same transaction: a verification completes its Task,
 * whose green stands whatever the command said; a member's work moves its line and its next Dispatch opens. The caller holds the
 * Task's lock and ends the job.
 */
export async function endRun(parts: TeamParts, tx: Transaction, found: Found, end: RunEnd): Promise<void> {
  const { task, run } = found;
  const { result } = end;
  const goesOn = task.status === 'running' || task.status === 'paused';
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
    commit: goesOn ? (end.work?.commit ?? null) : null,
  });
  if (!ended) return;
  tx.later(attentionSql.closeOfJob, { job: run.id, kind: 'no_machine' });
  await takeWork(parts, tx, found, end, goesOn);
  record(parts, tx, {
    task: task.id,
    type: `command_run_${end.state}`,
    source: result === undefined ? 'controller' : 'node',
    payload: {
      command_id: run.name,
      purpose: run.purpose,
      member: run.member,
      summary: run.summary,
      exit_code: ended.exit_code,
      failure_code: ended.failure_code,
      detail: ended.detail,
      commit: ended.commit,
    },
  });
  if (run.purpose === 'verify') {
    if (goesOn) await completeTask(parts, tx, task, 'green');
  } else if (task.status === 'running') await goOnAfterRun(parts, tx, task, ended);
}

/** Like a Dispatch's: the line moves by compare-and-set; what comes after a cancel of the Task is kept, never merged (D9). */
async function takeWork(
  parts: TeamParts,
  tx: Transaction,
  { task, run }: Found,
  end: RunEnd,
  goesOn: boolean,
): Promise<void> {
  if (run.purpose !== 'member' || end.work === undefined || run.base === null) return;
  const { job, commit } = end.work;
  await noteSetup(parts, tx, task.id, end.result?.isolation);
  if (commit === null) return;
  if (!goesOn) {
    const why = 'the Task was cancelled';
    await tx.run(rescueSql.add, { job: job.id, epoch: job.epoch, commit, task: task.id, member: run.member, why });
    return;
  }
  const assignment = await tx.first(assignmentSql.read, { id: run.assignment });
  if (!assignment) throw new Error('a Command Run without its Assignment');
  await acceptWork(tx, job, { base: run.base }, assignment, commit);
}
