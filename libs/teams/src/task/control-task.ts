import { FarmError, type InputOf, type OutputOf, type Preview, type taskControl } from '#contracts';
import type { Transaction } from '#store';
import type { Actor } from '../api.js';
import { cancelRun } from '../command-run/cancel-run.js';
import { cancelVerification, verificationUnderWay } from '../command-run/cancel-verification.js';
import { resolveRequest } from '../human-request/resolve-request.js';
import type { TeamParts } from '../parts.js';
import type { TaskRow } from '../rows.js';
import { humanRequestSql } from '../sql/human-request.js';
import { attentionSql, commandRunSql, dispatchSql, taskSql } from '../sql/teams.js';
import { waveSql } from '../sql/wave.js';
import { announce } from '../webhook/announce.js';
import { actionsOf } from './actions.js';
import { record } from './events.js';
import { lockTask } from './lock-task.js';
import { pauseTask } from './pause-task.js';
import { resumeTask } from './resume-task.js';

/** Does what a view offered, if the facts are still those of the view (I16). @throws not_found, conflict */
export async function controlTask(
  parts: TeamParts,
  tx: Transaction,
  actor: Actor,
  input: InputOf<typeof taskControl>,
): Promise<OutputOf<typeof taskControl>> {
  const task = await lockTask(tx, input.task_id);
  const action = offeredAction(task, input.action_id);
  if (action.kind === 'resume')
    return { kind: 'resume', status: (await resumeTask(parts, tx, task, actor.principal, input.budget)).status };
  if (action.kind === 'pause') {
    const detail = 'A person paused it. Resume goes on from what was handed in.';
    const pause = { reason: 'paused_by_operator', detail, principal: actor.principal } as const;
    return { kind: 'pause', status: (await pauseTask(parts, tx, task, pause)).status };
  }
  const verifying = await verificationUnderWay(tx, task.id);
  if (verifying)
    return { kind: 'cancel', status: await cancelVerification(parts, tx, { task, run: verifying }, actor) };
  return { kind: 'cancel', status: (await cancelTask(parts, tx, task, actor.principal)).status };
}

/** What the action would do, for who must confirm it. @throws not_found, conflict */
export async function previewControl(tx: Transaction, input: InputOf<typeof taskControl>): Promise<Preview> {
  const task = await tx.first(taskSql.read, { task: input.task_id });
  if (!task) throw new FarmError('not_found', 'There is no such Task.');
  const { kind } = offeredAction(task, input.action_id);
  const after = afterwards[kind];
  if (kind === 'cancel' && (await verificationUnderWay(tx, task.id))) {
    const summary = 'Ends the verify command; the Task completes with its work, green and not verified';
    return {
      summary,
      changes: [{ id: task.id, before: { status: task.status }, after: { status: 'completed' } }],
    };
  }
  const summary = wouldDo[kind];
  return { summary, changes: [{ id: task.id, before: { status: task.status }, after: { status: after } }] };
}

const afterwards = { pause: 'paused', resume: 'running', cancel: 'cancelled' } as const;
const wouldDo = {
  pause: 'Stops the sessions of the Task; their work is handed in and kept',
  resume: 'Lets the Task go on',
  cancel: 'Ends the Task without a Result; work on machines is kept',
} as const;

function offeredAction(task: TaskRow, id: string): ReturnType<typeof actionsOf>[number] {
  const action = actionsOf(task).find((offered) => offered.id === id);
  if (action) return action;
  throw new FarmError('conflict', 'This action is not offered any more: the Task has moved on.', {
    hint: 'Read the Task again and take the action from there.',
  });
}

/**
 * Ends the Task without a Result: Dispatches close, waiting jobs end, leased ones are told and their work is kept (D9, I15). The
 * caller holds its lock.
 */
async function cancelTask(parts: TeamParts, tx: Transaction, task: TaskRow, principal: string): Promise<TaskRow> {
  const cancelled = await tx.first(taskSql.move, {
    task: task.id,
    from: task.status,
    to: 'cancelled',
    outcome: null,
    reason: null,
    detail: null,
    step: 1,
  });
  if (!cancelled) throw new Error('the Task was not as it stood under its lock');
  record(parts, tx, { task: task.id, type: 'task_cancelled', source: 'operator', principal, payload: {} });
  for (const dispatch of await tx.all(dispatchSql.open, { task: task.id })) {
    await tx.run(dispatchSql.close, { id: dispatch.id, reason: 'cancelled', commit: null });
  }
  await tx.run(waveSql.cancelOfTask, { task: task.id });
  for (const request of await tx.all(humanRequestSql.openOfTask, { task: task.id }))
    await resolveRequest(parts, tx, cancelled, request, { kind: 'cancelled', item_responses: [], by: principal });
  for (const run of await tx.all(commandRunSql.goingOn, { task: task.id }))
    await cancelRun(parts, tx, { task: cancelled, run }, { actor: { principal }, why: 'the Task was cancelled' });
  await parts.queue().endQueued(tx, task.id, 'the Task was cancelled');
  await parts.queue().flagEnd(tx, task.id, 'cancel', 'the Task was cancelled');
  tx.later(attentionSql.closeOfTask, {
    task: task.id,
    kinds: [
      'lane_exhausted',
      'no_machine',
      'source_unavailable',
      'workspace_unavailable',
      'budget_exhausted',
      'policy_refused',
      'setup_failed',
    ],
  });
  await announce(parts, tx, task.id, { event: 'task_cancelled' });
  return cancelled;
}
