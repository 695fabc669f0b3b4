import { FarmError, limits } from '#contracts';
import type { JobEnd, JobRow } from '#jobs';
import { sentTogether, type Transaction } from '#store';
import { applyHandover } from '../handover/apply-handover.js';
import type { TeamParts } from '../parts.js';
import type { AssignmentRow, Continuation, DispatchRow, TaskRow } from '../rows.js';
import { assignmentSql, dispatchSql } from '../sql/teams.js';
import { record } from '../task/events.js';
import { lockTask } from '../task/lock-task.js';
import { keepBudget } from '../usage/keep-budget.js';
import { recordUsage } from '../usage/record-usage.js';
import { acceptWork, closeDispatch } from './accept-work.js';
import { type DispatchEnd, dispatchEnds } from './ends.js';
import { exhaustLane } from './exhaust-lane.js';
import { noteSetup } from './note-setup.js';
import { openDispatch } from './open-dispatch.js';
import type { PreparedEnd } from './prepare-end.js';
import { acceptBroughtWork } from './team-work.js';

/** Applies a Dispatch's end as D3's tables say: the line, the Dispatch, what follows, all in the transaction of `job_complete`. */
export async function completeDispatch(
  parts: TeamParts,
  tx: Transaction,
  job: JobRow,
  end: JobEnd & { readonly prepared: PreparedEnd },
): Promise<{ kept: boolean }> {
  const standing = await readStanding(tx, job);
  const { task, dispatch } = standing;
  if (dispatch.closed_at !== null) throw new FarmError('conflict', 'The Dispatch is closed already.');
  if (task.status !== 'running' && task.status !== 'paused') throw new FarmError('conflict', 'The Task is over.');
  const { usage, isolation } = end.prepared.result;
  await noteSetup(parts, tx, task.id, isolation);
  if (usage !== undefined) await recordUsage(tx, dispatch, job.epoch, usage);
  const assignment = await acceptWork(tx, job, dispatch, standing.assignment, end.prepared.commit);
  acceptBroughtWork(tx, job, assignment, end.prepared);
  if (end.ended === 'handover') {
    await applyHandover(parts, tx, job, { task, assignment, dispatch }, end.prepared);
  } else {
    await continueLane(parts, tx, job, { task, assignment, dispatch }, end);
  }
  if (task.settings.budget !== undefined) await keepBudget(parts, tx, await lockTask(tx, task.id));
  return { kept: true };
}

interface Standing {
  readonly task: TaskRow;
  readonly assignment: AssignmentRow;
  readonly dispatch: DispatchRow;
}

/** The Task's lock first; everything else is read after it. */
export async function readStanding(tx: Transaction, job: Pick<JobRow, 'id' | 'scope'>): Promise<Standing> {
  if (job.scope === null) throw new Error('a Dispatch has a Task');
  // Sent together: one connection runs them in this order, so both reads come after the lock.
  const [task, dispatch, assignment] = await sentTogether([
    lockTask(tx, job.scope),
    tx.first(dispatchSql.read, { id: job.id }),
    tx.first(assignmentSql.ofDispatch, { dispatch: job.id }),
  ]);
  if (!dispatch || !assignment) throw new Error('a job of kind dispatch without its Dispatch');
  return { task, dispatch, assignment };
}

async function continueLane(
  parts: TeamParts,
  tx: Transaction,
  job: JobRow,
  standing: Standing,
  end: JobEnd & { readonly prepared: PreparedEnd },
): Promise<void> {
  const { task, assignment, dispatch } = standing;
  const { commit, result } = end.prepared;
  const rule = endOf(end.ended);
  const recovery = rule.counter === null ? 0 : await countRecovery(tx, assignment);
  if (recovery === undefined) {
    const why = `it ended ${end.ended} more than ${limits.recoveries} times without a report.`;
    await exhaustLane(parts, tx, standing, { why, commit });
    return;
  }
  await closeDispatch(tx, dispatch, rule.closed, commit);
  record(parts, tx, {
    task: task.id,
    type: 'dispatch_closed',
    source: 'node',
    payload: {
      dispatch: dispatch.id,
      member: assignment.member,
      ended: end.ended,
      closed_reason: rule.closed,
      commit,
      ...(result.usage === undefined ? {} : { usage: result.usage }),
    },
  });
  const afterMs = end.ended === 'limited' ? retryAfter(result.retry_after_ms) : undefined;
  if (afterMs !== undefined && job.account !== null)
    await parts.queue().pauseAccount(tx, job.account, afterMs, 'its provider limits it');
  // D8: while paused nothing is opened; Resume finds the lane by its closed tail.
  if (task.status === 'paused' || rule.successor === null) return;
  await openDispatch(parts, tx, task, assignment, {
    reason: rule.successor,
    causedBy: dispatch.id,
    continuation: continuationOf(rule, standing, end, recovery),
    // an account waits by itself, and another may stand in for it
    ...(afterMs === undefined || job.account !== null ? {} : { afterMs }),
  });
}

function retryAfter(said: number = limits.limitedRetryMs): number {
  return Math.min(said, limits.limitedRetryMostMs);
}

function endOf(ended: string): DispatchEnd {
  const [, rule] = Object.entries(dispatchEnds).find(([name]) => name === ended) ?? [];
  if (!rule) throw new FarmError('invalid_input', 'A Dispatch does not end like that.');
  return rule;
}

/** Undefined: the lane is exhausted. */
export async function countRecovery(tx: Transaction, assignment: AssignmentRow): Promise<number | undefined> {
  return (await tx.first(assignmentSql.countRecovery, { id: assignment.id, most: limits.recoveries }))?.recoveries;
}

function continuationOf(
  rule: DispatchEnd,
  { task, dispatch }: Standing,
  end: JobEnd & { prepared: PreparedEnd },
  recovery: number,
): Continuation {
  if (rule.successor === 'watchdog_recovery') {
    const { detail } = end.prepared.result;
    return {
      kind: 'watchdog_recovery',
      source_dispatch: dispatch.id,
      recovery_count: recovery,
      ended: end.ended,
      ...(detail === undefined ? {} : { detail }),
    };
  }
  return {
    kind: 'operator_continue',
    source_dispatch: dispatch.id,
    control_revision: task.control_revision,
    pause_reason: end.ended,
  };
}
