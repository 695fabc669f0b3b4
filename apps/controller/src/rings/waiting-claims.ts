import type { LeasedJob } from '#contracts';
import type { Claimer } from '#jobs';
import type { Transaction } from '#store';

/** As much of a job as decides who may take it. */
export interface Wanted {
  readonly kind: string;
  readonly pool: string;
  readonly labels: readonly string[];
  readonly account: string | null;
  readonly prefer: string | null;
}

/** As much of who claims. */
type Waiter = Pick<Claimer, 'worker' | 'pool' | 'labels' | 'accounts' | 'kinds'>;

/**
 * Claims within somebody else's transaction. Answers the jobs that are the claim's answer once that is committed; nothing: it could
 * not tell there, and looks by itself.
 */
type Take = (tx: Transaction) => Promise<readonly Pick<LeasedJob, 'id'>[] | undefined>;

interface Waiting {
  readonly waiter: Waiter;
  readonly take: Take | undefined;
  /** From here on only `wake` ends the wait: not its time, not its caller, no ring. */
  readonly hold: () => void;
  readonly wake: () => void;
}

interface Rung {
  readonly forIt: number;
  readonly forAll: number;
}

/** Some rings of other controllers say nothing of whom they are for: so many of them wake everybody once. */
const wakeAllMs = 20;

/** Claims that wait on this controller for work (`wait_seconds`), outside any transaction. */
export class WaitingClaims {
  private readonly waiting = new Set<Waiting>();
  /** Rings that found nobody waiting, by pool and by worker; and those that were for all. */
  private readonly unheard = { pool: new Map<string, number>(), worker: new Map<string, number>() };
  private rungForAll = 0;
  /** What had rung when a call looked last, by its signal. */
  private readonly looks = new WeakMap<AbortSignal, Rung>();
  private closed = false;
  private wokenAt = Number.NEGATIVE_INFINITY;
  private later: NodeJS.Timeout | undefined;

  get size(): number {
    return this.waiting.size;
  }

  /** Before each look: a ring that comes between it and the wait is heard by the wait. */
  look(waiter: Pick<Waiter, 'pool' | 'worker'>, signal: AbortSignal): void {
    this.looks.set(signal, { forIt: this.unheardOf(waiter), forAll: this.rungForAll });
  }

  /** Until there may be work or `take` got some, the time is over, or the caller has gone. */
  wait(waiter: Waiter, ms: number, signal: AbortSignal, take?: Take): Promise<void> {
    return new Promise((resolve) => {
      const hold = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.waiting.delete(entry);
      };
      const done = () => {
        hold();
        resolve();
      };
      const entry: Waiting = { waiter, take, hold, wake: done };
      const timer = setTimeout(done, ms);
      this.waiting.add(entry);
      signal.addEventListener('abort', done, { once: true });
      const seen = this.looks.get(signal);
      const missedOne = seen !== undefined && seen.forIt !== this.unheardOf(waiter);
      if (signal.aborted || this.closed || missedOne) done();
      else if (seen !== undefined && seen.forAll !== this.rungForAll) this.wakeWaiting();
    });
  }

  /**
   * Lets the claim that a ring would wake take the job in the transaction that makes it, so that it has a lease with that commit.
   * Answers what it takes; `looks`: it looks by itself after the commit.
   */
  async offer(tx: Transaction, job: Wanted): Promise<readonly string[] | 'looks'> {
    const chosen = this.choose(job);
    // What waits for its warm machine is not yet another's (D15).
    if (!chosen?.take || (job.prefer !== null && job.prefer !== chosen.waiter.worker)) return [];
    // Held, as it would miss its job if it gave up now. What rings meanwhile goes to others; what it was given may be undone.
    chosen.hold();
    tx.afterCommit(chosen.wake);
    tx.afterFailure(chosen.wake);
    const taken = await chosen.take(tx);
    return taken ? taken.map(({ id }) => id) : 'looks';
  }

  /** Wakes the one that has waited longest of those that fit. Answers whether there was one. */
  wakeOne(wanted: Wanted): boolean {
    const chosen = this.choose(wanted);
    chosen?.wake();
    if (!chosen) count(this.unheard.pool, wanted.pool);
    return chosen !== undefined;
  }

  /** Another controller chose it, because it has room and fits. */
  wakeWorker(id: string): void {
    const its = [...this.waiting].filter(({ waiter }) => waiter.worker === id);
    if (its.length === 0) count(this.unheard.worker, id);
    for (const { wake } of its) wake();
  }

  private unheardOf({ pool, worker }: Pick<Waiter, 'pool' | 'worker'>): number {
    return (this.unheard.pool.get(pool) ?? 0) + (this.unheard.worker.get(worker) ?? 0);
  }

  private choose(wanted: Wanted): Waiting | undefined {
    const fitting = [...this.waiting].filter(({ waiter }) => fits(waiter, wanted));
    return fitting.find(({ waiter }) => waiter.worker === wanted.prefer) ?? fitting[0];
  }

  /** "Look again", all of you. */
  wakeAll(): void {
    this.rungForAll += 1;
    this.wakeWaiting();
  }

  private wakeWaiting(): void {
    if (this.waiting.size === 0 || this.later) return;
    const due = this.wokenAt + wakeAllMs - performance.now();
    if (due <= 0) this.wakeNow();
    else this.later = setTimeout(() => this.wakeNow(), due);
  }

  /** Nobody waits from here on: the controller closes. */
  close(): void {
    this.closed = true;
    this.wakeNow();
  }

  get isClosed(): boolean {
    return this.closed;
  }

  private wakeNow(): void {
    clearTimeout(this.later);
    this.later = undefined;
    this.wokenAt = performance.now();
    for (const { wake } of [...this.waiting]) wake();
  }
}

function count(rings: Map<string, number>, whose: string): void {
  rings.set(whose, (rings.get(whose) ?? 0) + 1);
}

/** Pool, labels by containment (H26), the account that the job runs on, and kinds where they are named (A12.11). */
export function fits(worker: Omit<Waiter, 'worker'>, wanted: Wanted): boolean {
  return (
    worker.pool === wanted.pool &&
    (worker.kinds?.includes(wanted.kind) ?? true) &&
    wanted.labels.every((label) => worker.labels.includes(label)) &&
    (wanted.account === null || worker.accounts.includes(wanted.account))
  );
}
