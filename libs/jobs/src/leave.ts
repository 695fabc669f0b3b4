import { limits } from '#contracts';
import type { Transaction } from '#store';
import { type QueueContext, ringLater } from './context.js';
import type { JobRow } from './job.js';
import type { Kind, Next } from './kind.js';
import { admitNext } from './lanes.js';
import { leaseSql } from './sql/lease.js';

export interface Leaving {
  /** How the lease ended, if there was one. */
  readonly how: 'failed' | 'lost' | 'requeued' | 'closed' | 'cancelled' | null;
  readonly startAttempts?: number;
  readonly exclude?: string;
  /** For the same call again: its digest and what it is answered. */
  readonly hash?: Buffer;
}

const stateOf = {
  queue: 'queued',
  hold: 'held',
  done: 'done',
  dead: 'dead',
  cancelled: 'cancelled',
} as const satisfies Record<Next['next'], JobRow['state']>;

/** Writes where a job goes without a result. Its lock is held, and whatever must hold was checked after that. */
export async function leave(
  context: QueueContext,
  tx: Transaction,
  job: string,
  next: Next,
  leaving: Leaving,
): Promise<JobRow | undefined> {
  const state = stateOf[next.next];
  const afterMs = next.next === 'queue' ? (next.afterMs ?? 0) : 0;
  const gone = await tx.first(leaseSql.leave, {
    job_id: job,
    state,
    after_ms: afterMs,
    note: next.note ?? null,
    how: leaving.how,
    tries: next.spent ? 1 : 0,
    start_attempts: leaving.startAttempts ?? 0,
    exclude: leaving.exclude ?? null,
    hash: leaving.hash ?? null,
    answer: leaving.hash ? JSON.stringify({ state }) : null,
  });
  if (!gone) return undefined;
  ringLater(context, tx, gone, afterMs);
  if (gone.state !== 'queued') await admitNext(context, tx, gone);
  return gone;
}

/** Where a job goes that nothing is held against: one whose scope is paused waits there (D8). */
export async function wayBack(kind: Kind | undefined, tx: Transaction, job: JobRow): Promise<'queue' | 'hold'> {
  const waits = kind?.waitsForScope ? await kind.waitsForScope(tx, job) : job.end_kind === 'pause';
  return waits ? 'hold' : 'queue';
}

/** 1, 2, 4 … 30 s, after the first, second, third … failure. */
export function backoffMs(failures: number): number {
  return Math.min(30_000, 1000 * 2 ** Math.max(0, failures - 1));
}

/** What a failed try of a plain kind leads to (A12.14, P8: lost leases count as tries). */
export function afterTry(job: JobRow, note: string, retryable = true): Next {
  const tries = job.tries + 1;
  if (!retryable) return { next: 'dead', note, spent: true };
  if (tries >= limits.tries) return { next: 'dead', note: `${note}; ${tries} tries`, spent: true };
  return { next: 'queue', afterMs: backoffMs(tries), note, spent: true };
}
