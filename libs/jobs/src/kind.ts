import type { FailReason } from '#contracts';
import type { Transaction } from '#store';
import type { Beat, JobEnd, JobRow, SignalOutcome } from './job.js';

/** Where a job goes when a lease ends without a result. `spent`: one of its tries is. */
export type Next =
  | { readonly next: 'queue'; readonly afterMs?: number; readonly note?: string; readonly spent?: true }
  /** Waits until its scope is released (D8), or it alone. */
  | { readonly next: 'hold'; readonly note?: string; readonly spent?: true }
  | { readonly next: 'done' | 'dead' | 'cancelled'; readonly note?: string; readonly spent?: true };

export interface JobFailure {
  readonly reason: FailReason;
  readonly retryable: boolean;
  readonly detail?: string;
  readonly worker: string;
  /** All start attempts are spent: no further try of the same job is owed. */
  readonly exhausted: boolean;
}

/** `expired`: no beat for a lease time. `silent`: beats, but no sign of life of the session for 50 minutes (D6). */
export type LossReason = 'expired' | 'silent';

/**
 * What a kind of job brings. Each hook but `prepare` runs inside the transaction that writes the job, after the scope's lock and
 * then the job's (H12), with the fence already checked; a hook that throws undoes all of it. A kind that nobody registered is
 * plain: no scope, no hooks, `tries` at most 5 and then dead.
 */
export interface Kind {
  readonly name: string;
  /** What has started never goes back into the queue, whatever its worker says: `onFail` decides (H8). */
  readonly once?: boolean;
  /**
   * So many jobs of one scope are leased or to be had at once; more are queued and await a lane. Every job of such a kind is
   * submitted, ended and put back under its scope's lock, so that lanes are counted by one at a time; a claim takes no such lock
   * and changes no count.
   */
  readonly lanes?: number;
  /**
   * Locks the Task. Called before the job's own lock; again within one transaction it must do no harm. The lock is the first thing
   * that it sends, before it awaits anything: the job's lock may be sent right behind it.
   */
  lockScope(tx: Transaction, scope: string | null): Promise<void>;
  /** Disk and git, outside any transaction, safe to repeat. The fence was read just before (D13). */
  prepare?(job: JobRow, end: JobEnd): Promise<unknown>;
  /** First `started` beat, or what counts as it (D12). `job.started_at` is set. */
  onStarted?(tx: Transaction, job: JobRow): Promise<void>;
  /** A new epoch of the same session: what `onLeaseLost` counted is given back (D11). */
  onContinued?(tx: Transaction, job: JobRow): Promise<void>;
  /** The job is `done` already. May throw a FarmError: then nothing is written. */
  onComplete(tx: Transaction, job: JobRow, end: JobEnd & { readonly prepared: unknown }): Promise<{ kept: boolean }>;
  /**
   * A failure that the queue does not settle by itself. By itself it excludes the worker of an `environment` failure (H11) and
   * repeats a retryable `provider_start` up to `limits.startAttempts`; then it asks with `exhausted`.
   */
  onFail(tx: Transaction, job: JobRow, failure: JobFailure): Promise<Next>;
  /** Whether a job that goes back by itself waits for its scope now (D8). Absent: those do that were told of a pause. */
  waitsForScope?(tx: Transaction, job: JobRow): Promise<boolean>;
  /** Never asked for a lease that was never beaten (H7: back, uncounted) or flagged `cancel` (D9: cancelled). */
  onLeaseLost(tx: Transaction, job: JobRow, reason: LossReason): Promise<Next>;
  /** Queued, held or leased past its deadline (D6); absent: dead. `queue` is no answer. */
  onDeadline?(tx: Transaction, job: JobRow): Promise<Next>;
  /** `queued`: before any lease or between two. `expired`: flagged, and its lease ended. `completed`: flagged, its work kept (D9). */
  onCancelled(
    tx: Transaction,
    job: JobRow,
    how: 'queued' | 'expired' | 'completed',
    end?: JobEnd & { readonly prepared: unknown },
  ): Promise<void>;
  /** A beat that carries progress, once per beat that does. */
  onProgress?(tx: Transaction, job: JobRow, beat: Beat): Promise<void>;
  /** What a session's holder said of a signal, when it is news. */
  onSignalled?(
    tx: Transaction,
    job: JobRow,
    said: { readonly seq: number; readonly outcome: SignalOutcome },
  ): Promise<void>;
  /** Throws `not_resumable` when the job may not go back into the queue (H8, H9). Absent: it may. */
  onRequeue?(tx: Transaction, job: JobRow): Promise<void>;
  /** Another life: `queue` puts this job back, anything else says that the kind has seen to it (a new Dispatch). */
  onRedrive?(tx: Transaction, job: JobRow): Promise<'queue' | 'seen_to'>;
}
