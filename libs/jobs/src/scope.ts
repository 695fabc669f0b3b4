import type { Transaction } from '#store';
import { type QueueContext, ringLater } from './context.js';
import { admitNext, lanedKinds } from './lanes.js';
import { leave } from './leave.js';
import { leaseSql } from './sql/lease.js';
import { queueSql } from './sql/queue.js';

/** What is done to all jobs of a scope at once. The caller holds the scope's lock (H12). */

export async function endQueued(tx: Transaction, scope: string, note?: string): Promise<readonly string[]> {
  return ids(await tx.all(queueSql.endQueued, { scope, note: note ?? null }));
}

export async function flagEnd(
  tx: Transaction,
  scope: string,
  kind: 'cancel' | 'pause',
  reason: string,
  of?: string,
): Promise<readonly string[]> {
  return ids(await tx.all(queueSql.flagEnd, { scope, kind, reason, of: of ?? null }));
}

export async function unflagPause(tx: Transaction, scope: string): Promise<readonly string[]> {
  return ids(await tx.all(queueSql.unflagPause, { scope }));
}

export async function hold(tx: Transaction, scope: string): Promise<readonly string[]> {
  return ids(await tx.all(queueSql.hold, { scope }));
}

export async function release(context: QueueContext, tx: Transaction, scope: string): Promise<readonly string[]> {
  const laned = lanedKinds(context);
  const freed = await tx.all(queueSql.release, { scope, laned });
  for (const job of freed) ringLater(context, tx, job);
  for (const kind of laned) await admitNext(context, tx, { kind, scope });
  return ids(freed);
}

export async function releaseJobs(context: QueueContext, tx: Transaction, jobs: readonly string[]): Promise<void> {
  for (const job of await tx.all(queueSql.releaseJobs, { jobs })) ringLater(context, tx, job);
}

export async function close(
  context: QueueContext,
  tx: Transaction,
  job: string,
  state: 'done' | 'dead' | 'cancelled',
  note?: string,
): Promise<void> {
  await leave(context, tx, job, { next: state, ...(note === undefined ? {} : { note }) }, { how: 'closed' });
}

export async function endJob(
  context: QueueContext,
  tx: Transaction,
  id: string,
  reason: string,
): Promise<'ended' | 'told' | 'over'> {
  const job = await tx.first(leaseSql.lock, { job_id: id });
  if (!job || job.settled_at !== null) return 'over';
  if (job.state === 'leased') {
    await tx.run(queueSql.flagEndOf, { job_id: id, reason });
    return 'told';
  }
  await leave(context, tx, id, { next: 'cancelled', note: reason }, { how: null });
  return 'ended';
}

export async function dropPreference(context: QueueContext, tx: Transaction, job: string): Promise<void> {
  const freed = await tx.first(queueSql.dropPreference, { job_id: job });
  if (freed) ringLater(context, tx, freed);
}

function ids(rows: readonly { readonly id: string }[]): readonly string[] {
  return rows.map((row) => row.id);
}
