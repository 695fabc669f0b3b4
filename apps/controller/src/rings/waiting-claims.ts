import type { Claimer } from '#jobs';

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

interface Waiting {
  readonly waiter: Waiter;
  readonly wake: () => void;
}

interface Rung {
  readonly inPool: number;
  readonly forAll: number;
}

/** Rings of other controllers say nothing of what they are for: so many of them wake everybody once. */
const wakeAllMs = 20;

/** Claims that wait on this controller for work (`wait_seconds`), outside any transaction. */
export class WaitingClaims {
  private readonly waiting = new Set<Waiting>();
  /** Rings that found nobody waiting, by pool; and those that were for all. */
  private readonly unheard = new Map<string, number>();
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
  look({ pool }: Pick<Waiter, 'pool'>, signal: AbortSignal): void {
    this.looks.set(signal, { inPool: this.unheard.get(pool) ?? 0, forAll: this.rungForAll });
  }

  /** Until there may be work, the time is over, or the caller has gone. */
  wait(waiter: Waiter, ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.waiting.delete(entry);
        resolve();
      };
      const entry: Waiting = { waiter, wake: done };
      const timer = setTimeout(done, ms);
      this.waiting.add(entry);
      signal.addEventListener('abort', done, { once: true });
      const seen = this.looks.get(signal);
      const missedOne = seen !== undefined && seen.inPool !== (this.unheard.get(waiter.pool) ?? 0);
      if (signal.aborted || this.closed || missedOne) done();
      else if (seen !== undefined && seen.forAll !== this.rungForAll) this.wakeWaiting();
    });
  }

  /** Wakes the one that has waited longest of those that fit. Answers whether there was one. */
  wakeOne(wanted: Wanted): boolean {
    const fitting = [...this.waiting].filter(({ waiter }) => fits(waiter, wanted));
    const chosen = fitting.find(({ waiter }) => waiter.worker === wanted.prefer) ?? fitting[0];
    chosen?.wake();
    if (!chosen) this.unheard.set(wanted.pool, (this.unheard.get(wanted.pool) ?? 0) + 1);
    return chosen !== undefined;
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

/** Pool, labels by containment (H26), the account that the job runs on, and kinds where they are named (A12.11). */
export function fits(worker: Omit<Waiter, 'worker'>, wanted: Wanted): boolean {
  return (
    worker.pool === wanted.pool &&
    (worker.kinds?.includes(wanted.kind) ?? true) &&
    wanted.labels.every((label) => worker.labels.includes(label)) &&
    (wanted.account === null || worker.accounts.includes(wanted.account))
  );
}
