import { limits } from '#contracts';
import type { Transaction } from '#store';
import { lockScope, type QueueContext } from './context.js';
import type { JobRow } from './job.js';
import type { Kind, Next } from './kind.js';
import { sweepLanes } from './lanes.js';
import { afterTry, type Leaving, leave, wayBack } from './leave.js';
import type { Swept } from './queue.js';
import { leaseSql } from './sql/lease.js';
import { type DueJob, type DueRow, sweepSql } from './sql/sweep.js';

/** Jobs that one sweep takes on: the rest is the next one's. */
const perSweep = 200;
const classAgeMs = 60 * 60_000;
const due = { silence_ms: limits.sweepSilenceMs };

/**
 * What is lost, past its deadline or silent moves on: candidates first, then each in a transaction of its own, so that one job's
 * trouble is not the others' (H13).
 */
export async function sweep(context: QueueContext): Promise<Swept> {
  const swept = { requeued: [] as string[], ended: [] as string[], failed: [] as { job: string; error: unknown }[] };
  for (const job of await context.database.all(sweepSql.due, { ...due, limit: perSweep })) {
    try {
      const gone = await context.database.transaction((tx) => sweepOne(context, tx, job));
      if (gone) (gone.state === 'queued' || gone.state === 'held' ? swept.requeued : swept.ended).push(job.id);
    } catch (error) {
      swept.failed.push({ job: job.id, error });
      context.onTrouble(job.id, error);
    }
  }
  await sweepLanes(context);
  await context.database.run(sweepSql.restoreClasses);
  return swept;
}

/** Rows that say nothing any more go; the queue works the same without. Once a minute is enough. */
export async function tidy(context: QueueContext): Promise<void> {
  await context.database.run(sweepSql.dropClasses, { age_ms: classAgeMs });
  await context.database.run(sweepSql.dropKeys);
}

async function sweepOne(context: QueueContext, tx: Transaction, job: DueRow): Promise<JobRow | undefined> {
  await lockScope(context, tx, job);
  return loseIfDue(context, tx, job);
}

/** The scope's lock is held. Nothing when the job is not due, or no longer. */
export async function loseIfDue(
  context: QueueContext,
  tx: Transaction,
  { id }: Pick<JobRow, 'id'>,
): Promise<JobRow | undefined> {
  await tx.first(leaseSql.lock, { job_id: id });
  const job = await tx.first(sweepSql.stillDue, { job_id: id, ...due });
  if (!job) return undefined;
  const kind = context.kinds.get(job.kind);
  const { next, ...leaving } = await settle(tx, job, kind);
  return leave(context, tx, id, next, { how: job.state === 'leased' ? 'lost' : null, ...leaving });
}

async function settle(
  tx: Transaction,
  job: DueJob,
  kind: Kind | undefined,
): Promise<{ readonly next: Next } & Partial<Leaving>> {
  if (job.end_kind === 'cancel') {
    await kind?.onCancelled(tx, job, 'expired');
    return { next: { next: 'cancelled', note: job.end_reason ?? 'cancelled' }, how: 'cancelled' };
  }
  if (job.due === 'deadline') {
    return { next: (await kind?.onDeadline?.(tx, job)) ?? { next: 'dead', note: 'past its deadline' } };
  }
  // The claim's reply never came, or its machine died before the first beat: as if it had not been given (H7).
  if (job.unbeaten && job.phase === 'preparing') {
    return { next: { next: await wayBack(kind, tx, job), note: 'never begun' } };
  }
  if (kind) return { next: await kind.onLeaseLost(tx, job, job.due) };
  const next = afterTry(job, job.due === 'silent' ? 'silent for too long' : 'lease lost');
  return { next: next.next === 'queue' ? { ...next, afterMs: 0 } : next };
}
