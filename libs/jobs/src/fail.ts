import { z } from 'zod';
import { JobState, limits } from '#contracts';
import type { Transaction } from '#store';
import { answerHash } from './answer-hash.js';
import { fenceOf, lockScope, type QueueContext } from './context.js';
import type { Holder, JobRow, LeaseFence } from './job.js';
import type { JobFailure, Next } from './kind.js';
import { afterTry, backoffMs, type Leaving, leave, wayBack } from './leave.js';
import { leaseSql } from './sql/lease.js';
import { sameAnswerOr } from './stale.js';

export type Failure = Pick<JobFailure, 'reason' | 'retryable' | 'detail'>;
type Answer = { readonly state: JobState };
const Answer = z.object({ state: JobState });

export async function fail(
  context: QueueContext,
  tx: Transaction,
  holder: Holder,
  fence: LeaseFence,
  failure: Failure,
): Promise<Answer> {
  const hash = answerHash('fail', failure);
  const found = await tx.first(leaseSql.find, { job_id: fence.job_id });
  if (found) await lockScope(context, tx, found);
  await tx.first(leaseSql.lock, { job_id: fence.job_id });
  const job = await tx.first(leaseSql.held, fenceOf(holder, fence));
  if (!job) return Answer.parse(await sameAnswerOr(tx, holder, fence, hash));
  const { next, leaving } = await settle(context, tx, job, failure, holder.worker);
  const gone = await leave(context, tx, job.id, next, { ...leaving, how: 'failed', hash });
  return { state: gone?.state ?? job.state };
}

interface Settlement {
  readonly next: Next;
  readonly leaving: Omit<Leaving, 'how' | 'hash'>;
}

/** The counters' table of design §4. */
async function settle(
  context: QueueContext,
  tx: Transaction,
  job: JobRow,
  failure: Failure,
  worker: string,
): Promise<Settlement> {
  const kind = context.kinds.get(job.kind);
  const note = noteOf(failure);
  // Flagged for its end: never put back (D9).
  if (job.end_kind === 'cancel') {
    await kind?.onCancelled(tx, job, 'expired');
    return { next: { next: 'cancelled', ...(job.end_reason === null ? {} : { note: job.end_reason }) }, leaving: {} };
  }
  const started = kind?.once === true && job.started_at !== null;
  // The machine, not the job: spends nothing, goes elsewhere (H11). What has started is its kind's affair.
  if (failure.reason === 'environment' && (!kind || job.phase === 'preparing') && !started) {
    return { next: { next: await wayBack(kind, tx, job), note }, leaving: { exclude: worker } };
  }
  // Nor is the job at fault: it waits for the account, here or elsewhere. Not at once: the machine is just saying that it has it no more.
  if (failure.reason === 'account_refused' && (!kind || job.phase === 'preparing') && !started) {
    const next = await wayBack(kind, tx, job);
    return { next: next === 'queue' ? { next, afterMs: backoffMs(1), note } : { next, note }, leaving: {} };
  }
  const startAttempts = failure.reason === 'provider_start' ? 1 : 0;
  const attempts = job.start_attempts + startAttempts;
  const exhausted = attempts >= limits.startAttempts;
  if (startAttempts > 0 && failure.retryable && !exhausted && !started) {
    const next = await wayBack(kind, tx, job);
    return {
      next: next === 'queue' ? { next, afterMs: backoffMs(attempts), note } : { next, note },
      leaving: { startAttempts },
    };
  }
  if (!kind) return { next: afterTry(job, note, failure.retryable && !exhausted), leaving: { startAttempts } };
  return { next: await kind.onFail(tx, job, { ...failure, worker, exhausted }), leaving: { startAttempts } };
}

function noteOf({ reason, detail }: Failure): string {
  return detail === undefined ? reason : `${reason}: ${detail}`;
}
