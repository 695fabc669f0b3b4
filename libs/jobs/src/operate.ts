import { FarmError, type JobState } from '#contracts';
import type { Transaction } from '#store';
import { lockScope, type QueueContext, ringLater } from './context.js';
import type { JobRow } from './job.js';
import { admitNext, lanedKinds } from './lanes.js';
import { leave } from './leave.js';
import { leaseSql } from './sql/lease.js';
import { queueSql } from './sql/queue.js';

export async function requeue(context: QueueContext, tx: Transaction, id: string): Promise<JobState> {
  const job = await lockJob(context, tx, id);
  if (job.end_kind === 'cancel') throw notResumable('The job is about to end: it was cancelled.');
  if (job.state !== 'queued' && job.state !== 'leased') throw notResumable(`The job is ${job.state}.`, hintFor(job));
  await context.kinds.get(job.kind)?.onRequeue?.(tx, job);
  await tx.run(queueSql.forgetExclusions, { job_id: id });
  const gone = await leave(context, tx, id, { next: 'queue', note: 'requeued by hand' }, { how: 'requeued' });
  return gone?.state ?? job.state;
}

export async function cancel(context: QueueContext, tx: Transaction, id: string): Promise<JobState> {
  const job = await lockJob(context, tx, id);
  if (job.scope !== null) {
    throw new FarmError('conflict', 'The job belongs to a Task, which is cancelled as a whole.', {
      hint: 'Cancel the Task: longshore task cancel <task>',
    });
  }
  if (job.state === 'leased') {
    await tx.run(queueSql.flagEndOf, { job_id: id, reason: 'cancelled' });
    return 'leased';
  }
  if (job.state === 'cancelled') return 'cancelled';
  if (job.state !== 'queued' && job.state !== 'held') {
    throw new FarmError('conflict', `The job is ${job.state} already.`);
  }
  await context.kinds.get(job.kind)?.onCancelled(tx, job, 'queued');
  await leave(context, tx, id, { next: 'cancelled', note: 'cancelled' }, { how: null });
  return 'cancelled';
}

export async function redrive(context: QueueContext, tx: Transaction, id: string): Promise<JobState> {
  const job = await lockJob(context, tx, id);
  const kind = context.kinds.get(job.kind);
  // An exhausted lane ends with its last job done, not dead: whether it may go on is for the kind to say (H9).
  const known = job.state === 'dead' || (job.state === 'done' && kind?.onRedrive !== undefined);
  if (!known) throw notResumable(`The job is ${job.state}; only a dead one is given another life.`);
  const seenTo = await kind?.onRedrive?.(tx, job);
  if (seenTo === 'seen_to') return job.state;
  // What is done stays done (A12.8): only its kind can open another.
  if (job.state !== 'dead') throw notResumable(`The job is ${job.state}.`);
  const alive = await tx.first(queueSql.revive, { job_id: id, laned: lanedKinds(context) });
  if (!alive) return job.state;
  ringLater(context, tx, alive);
  await admitNext(context, tx, alive);
  return alive.state;
}

/** Scope first, then the job (H12). Errors: `not_found`. */
export async function lockJob(context: QueueContext, tx: Transaction, id: string): Promise<JobRow> {
  const found = await tx.first(leaseSql.find, { job_id: id });
  if (found) await lockScope(context, tx, found);
  const job = found && (await tx.first(leaseSql.lock, { job_id: id }));
  if (!job) throw new FarmError('not_found', 'There is no such job.', { hint: 'longshore queue list shows them.' });
  return job;
}

function notResumable(detail: string, hint?: string): FarmError {
  return new FarmError('not_resumable', detail, hint === undefined ? {} : { hint });
}

function hintFor(job: JobRow): string | undefined {
  if (job.state === 'dead') return 'Give it another life: longshore queue redrive <job>';
  if (job.state === 'held')
    return job.scope === null ? 'It waits for its next try.' : 'It waits for its Task: longshore task resume <task>';
  return undefined;
}
