import { type Budget, FarmError } from '#contracts';
import type { Transaction } from '#store';
import { goOnAfterRun } from '../command-run/go-on-after-run.js';
import { openDispatch } from '../dispatch/open-dispatch.js';
import { goOnAfterRequest } from '../human-request/resolve-request.js';
import type { TeamParts } from '../parts.js';
import { readPolicy, refuseBreaches, requirePolicy } from '../policy/keep-policy.js';
import { breachOfBudget } from '../policy/policy-rules.js';
import type { TaskRow } from '../rows.js';
import { humanRequestSql } from '../sql/human-request.js';
import { assignmentSql, attentionSql, commandRunSql, dispatchSql, taskSql } from '../sql/teams.js';
import { usageSql } from '../sql/usage.js';
import { requireBudget } from '../usage/keep-budget.js';
import { record } from './events.js';

/**
 * A paused Task goes on: every lane gets new tries, held jobs are released, and each lane that nothing would move is opened from
 * the head of its line (§6.4 of the team rules, I26). A Task that was never prepared is prepared again (D19). The caller holds its
 * lock.
 */
export async function resumeTask(
  parts: TeamParts,
  tx: Transaction,
  task: TaskRow,
  principal: string,
  budget?: Budget,
): Promise<TaskRow> {
  const overBudget = breachOfBudget(await readPolicy(tx), budget);
  refuseBreaches(overBudget ? [overBudget] : []);
  await requirePolicy(tx, task);
  await requireBudget(tx, task.id, budget ?? task.settings.budget);
  if (budget !== undefined) await tx.run(usageSql.setBudget, { task: task.id, budget: JSON.stringify(budget) });
  const to = task.base === null ? 'preparing' : 'running';
  const resumed = await tx.first(taskSql.move, {
    task: task.id,
    from: 'paused',
    to,
    outcome: null,
    reason: null,
    detail: null,
    step: 1,
  });
  if (!resumed) throw new FarmError('conflict', 'The Task is not paused.');
  record(parts, tx, {
    task: task.id,
    type: 'task_resumed',
    source: 'operator',
    principal,
    payload: { paused_for: task.pause_reason, ...(budget === undefined ? {} : { budget }) },
  });
  tx.later(attentionSql.closeOfTask, {
    task: task.id,
    kinds: ['lane_exhausted', 'source_unavailable', 'workspace_unavailable', 'budget_exhausted', 'policy_refused'],
  });
  if (to === 'preparing') {
    tx.afterCommit(() => parts.onPreparing?.(task.id));
    return resumed;
  }
  await tx.run(assignmentSql.resetLanes, { task: task.id });
  await parts.queue().unflagPause(tx, task.id);
  await parts.queue().release(tx, task.id);
  for (const lane of await tx.all(assignmentSql.lanesToOpen, { task: task.id })) {
    await openLane(parts, tx, resumed, lane, task.pause_reason ?? lane.closed_reason);
  }
  return resumed;
}

interface ClosedLane {
  readonly assignment: string;
  readonly tail: string;
}

/** The successor of a lane's last Dispatch. */
export async function openLane(
  parts: TeamParts,
  tx: Transaction,
  task: TaskRow,
  lane: ClosedLane,
  why: string,
): Promise<void> {
  const assignment = await tx.first(assignmentSql.read, { id: lane.assignment });
  const tail = await tx.first(dispatchSql.read, { id: lane.tail });
  if (!assignment || !tail) throw new Error('a lane without its rows');
  // What it waited for has ended meanwhile: that, and not the pause, is what it goes on with (I14).
  const request = await tx.first(humanRequestSql.ofDispatch, { dispatch: tail.id });
  if (request?.assignment === assignment.id && request.status !== 'open')
    return goOnAfterRequest(parts, tx, task, request);
  const run = await tx.first(commandRunSql.ofDispatch, { dispatch: tail.id });
  if (run) return goOnAfterRun(parts, tx, task, run);
  await openDispatch(parts, tx, task, assignment, {
    reason: 'operator_continue',
    causedBy: tail.id,
    continuation: {
      kind: 'operator_continue',
      source_dispatch: tail.id,
      control_revision: task.control_revision,
      pause_reason: why,
    },
  });
}
