import { DispatchProgress, FarmError, limits } from '#contracts';
import type { JobFailure, JobRow, Kind, Next } from '#jobs';
import type { Transaction } from '#store';
import { carryHandover } from '../handover/kept-handover.js';
import { awaitFolder } from '../in-place/in-place.js';
import type { TeamParts } from '../parts.js';
import { assignmentSql, rescueSql } from '../sql/teams.js';
import { hearSteer } from '../steer/hear-steer.js';
import { record } from '../task/events.js';
import { lockScope } from '../task/lock-task.js';
import { keepBudget } from '../usage/keep-budget.js';
import { recordUsage } from '../usage/record-usage.js';
import { completeDispatch, countRecovery, readStanding } from './complete-dispatch.js';
import { exhaustLane } from './exhaust-lane.js';
import { type PreparedEnd, prepareEnd } from './prepare-end.js';
import { redriveLane, requireRequeue } from './redrive-lane.js';

/** The rules of jobs of kind `dispatch`: one provider turn of one Assignment, on whichever machine holds the lease. */
export function dispatchKind(parts: TeamParts): Kind {
  return {
    name: 'dispatch',
    lanes: limits.lanesPerTask,
    lockScope,

    prepare: (job, end) => prepareEnd(parts, job, end),

    async onStarted(tx, job) {
      const { task, dispatch } = await readStanding(tx, job);
      // A new session of the same Dispatch: the same bytes, and what was said to the one before.
      if (job.epoch > 1) await parts.queue().tellAgain(tx, job.id);
      record(parts, tx, {
        task: task.id,
        type: 'dispatch_start_updated',
        source: 'node',
        payload: {
          dispatch: dispatch.id,
          member: dispatch.pins.member,
          state: 'started',
          epoch: job.epoch,
          worker: job.holder,
        },
      });
    },

    /** D11: the session goes on; what its loss cost is given back, and a kept handover stands. */
    async onContinued(tx, job) {
      const { assignment } = await readStanding(tx, job);
      await tx.run(assignmentSql.giveRecoveryBack, { id: assignment.id });
      await carryHandover(tx, job.id, job.epoch - 1, job.epoch);
    },

    onSignalled: (tx, job, said) => hearSteer(parts, tx, job, said),

    /** A sum that grows: said twice, or late, it counts once. At its budget the Task pauses. */
    async onProgress(tx, job, { progress }) {
      const said = DispatchProgress.safeParse(progress).data;
      if (said === undefined) return;
      const { task, dispatch } = await readStanding(tx, job);
      await recordUsage(tx, dispatch, job.epoch, said.usage);
      await keepBudget(parts, tx, task);
    },

    onComplete: (tx, job, end) => completeDispatch(parts, tx, job, { ...end, prepared: asPrepared(end.prepared) }),

    onFail: (tx, job, failure) => failDispatch(parts, tx, job, failure),

    /** The same Dispatch, the same bytes, the next epoch; a handover that was not followed by its work is void (H1). */
    async onLeaseLost(tx, job, reason) {
      const standing = await readStanding(tx, job);
      const { task, dispatch } = standing;
      if (dispatch.closed_at !== null) return { next: 'done', note: 'the Dispatch is over' };
      record(parts, tx, {
        task: task.id,
        type: 'lease_lost',
        source: 'controller',
        payload: { dispatch: dispatch.id, member: dispatch.pins.member, epoch: job.epoch, worker: job.holder, reason },
      });
      return again(parts, tx, standing, { why: 'its machine was lost too often.', note: 'lease lost' });
    },

    async onDeadline(tx, job) {
      const standing = await readStanding(tx, job);
      if (standing.dispatch.closed_at === null)
        await exhaustLane(parts, tx, standing, { why: 'it is past its deadline.' });
      return { next: 'done', note: 'past its deadline' };
    },

    /** The Dispatch closed with the cancel; what still arrives is kept and never merged (D9). */
    async onCancelled(tx, job, how, end) {
      const prepared = how === 'completed' && end ? asPrepared(end.prepared) : undefined;
      if (prepared === undefined) return;
      const { task, dispatch } = await readStanding(tx, job);
      if (prepared.result.usage !== undefined) await recordUsage(tx, dispatch, job.epoch, prepared.result.usage);
      if (prepared.commit === null) return;
      await tx.run(rescueSql.add, {
        job: job.id,
        epoch: job.epoch,
        commit: prepared.commit,
        task: task.id,
        member: dispatch.pins.member,
        why: 'the Task was cancelled',
      });
    },

    onRequeue: (tx, job) => requireRequeue(tx, job),
    onRedrive: (tx, job) => redriveLane(parts, tx, job),
  };
}

type Standing = Awaited<ReturnType<typeof readStanding>>;

/** Again with the same bytes, counted; held while the Task is paused (D8), which Resume makes a fresh start anyway. */
async function again(
  parts: TeamParts,
  tx: Transaction,
  standing: Standing,
  { why, note, afterMs }: { readonly why: string; readonly note: string; readonly afterMs?: number },
): Promise<Next> {
  if (standing.task.status === 'paused') return { next: 'hold', note };
  if ((await countRecovery(tx, standing.assignment)) !== undefined) {
    return { next: 'queue', note, ...(afterMs === undefined ? {} : { afterMs }) };
  }
  await exhaustLane(parts, tx, standing, { why });
  return { next: 'done', note: 'lane exhausted' };
}

async function failDispatch(parts: TeamParts, tx: Transaction, job: JobRow, failure: JobFailure): Promise<Next> {
  const standing = await readStanding(tx, job);
  if (standing.dispatch.closed_at !== null) return { next: 'done', note: 'the Dispatch is over' };
  if (failure.reason === 'workspace_unavailable') return awaitFolder(parts, tx, standing.task, failure);
  const said = failure.detail === undefined ? '' : `: ${failure.detail}`;
  if (failure.retryable && !failure.exhausted && mayTryAgain.has(failure.reason)) {
    return again(parts, tx, standing, {
      why: `${failure.reason}${said}`,
      note: failure.reason,
      afterMs: limits.beatRetryMs,
    });
  }
  await exhaustLane(parts, tx, standing, { why: `${failure.reason}${said}` });
  return { next: 'done', note: 'lane exhausted' };
}

/** Nothing of the session is lost by these. What can never be captured keeps its work at the worker as rescue (D1). */
const mayTryAgain = new Set<JobFailure['reason']>(['prepare_failed', 'upload_failed', 'provider_start']);

function asPrepared(prepared: unknown): PreparedEnd {
  if (isPrepared(prepared)) return prepared;
  throw new FarmError('conflict', 'The lease has moved on while its end was prepared.');
}

function isPrepared(prepared: unknown): prepared is PreparedEnd {
  return typeof prepared === 'object' && prepared !== null && 'result' in prepared && 'commit' in prepared;
}
