import type { Database, Queries, Transaction } from '#store';
import type { Holder, JobRow, LeaseFence, Ring } from './job.js';
import type { Kind } from './kind.js';
import type { LeaseToken } from './queue.js';

/** What the parts of the queue share. */
export interface QueueContext {
  readonly database: Database;
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly leaseMs: number;
  readonly ring: (job: Ring) => void;
  readonly offer: (tx: Transaction, job: Ring) => Promise<readonly string[]>;
  /** Transactions that offer a job, with those that need no ring then. */
  readonly offered: WeakMap<Transaction, readonly string[]>;
  readonly mintJobToken: (lease: LeaseToken) => string;
  /** Turns that this process has advanced each pool to: what it need not write again. */
  readonly turns: Map<string, number>;
  /** The job whose lease was read last in a transaction: what never changes of it needs no second reading there. */
  readonly seen: WeakMap<Queries, JobRow>;
  readonly onTrouble: (job: string, error: unknown) => void;
}

/** H12: the scope before the job, for every kind that has one. */
export async function lockScope(
  context: QueueContext,
  tx: Transaction,
  job: Pick<JobRow, 'kind' | 'scope'>,
): Promise<void> {
  await context.kinds.get(job.kind)?.lockScope(tx, job.scope);
}

/** The first of each name: what comes twice in one statement would be done by either. */
export function distinct<T>(all: readonly T[], nameOf: (one: T) => string): readonly T[] {
  const names = new Set<string>();
  return all.filter((one) => names.size < names.add(nameOf(one)).size);
}

/** Tells after the commit that a job can be claimed. */
export function ringLater(context: QueueContext, tx: Transaction, job: JobRow, afterMs = 0): void {
  if (job.state !== 'queued' || job.awaits_lane) return;
  const { id, kind, pool, labels, account, prefer } = job;
  tx.afterCommit(() => context.ring({ id, kind, pool, labels, account, prefer, after_ms: afterMs }));
}

/** The parameters of every fenced statement. */
export function fenceOf(holder: Holder, { job_id, epoch, lease_id }: LeaseFence) {
  return { job_id, epoch, lease_id, holder: holder.worker, boot: holder.boot };
}
