import { bells, limits } from '#contracts';
import type { LiveWorker } from '#gate';
import type { Ring } from '#jobs';
import type { Bell, Transaction } from '#store';
import { fits, type WaitingClaims } from './waiting-claims.js';

/** Rings that wait for their second round at most; more are heard of by polling. */
const mostPending = 10_000;

interface Rung {
  readonly job: Ring;
  /** Monotonic; when all that fit are rung (D14). */
  readonly allAt: number;
}

export interface RingerOptions {
  readonly bell: Bell;
  readonly claims: WaitingClaims;
  /** Who is heard now, from rows. */
  readonly liveWorkers: () => Promise<readonly LiveWorker[]>;
  readonly now?: () => number;
}

/**
 * Tells of a job that may be claimed (D14): one worker that has room and fits, after a second all such. Nobody acts on what a
 * ring holds, so a lost one costs a poll and a false one a look (H25).
 */
export class Ringer {
  private live: readonly LiveWorker[] = [];
  /** Rung since the rows were read last: their room is taken by what they were rung for. */
  private readonly rung = new Map<string, number>();
  private readonly pending = new Map<string, Rung>();
  private readonly now: () => number;

  constructor(private readonly options: RingerOptions) {
    this.now = options.now ?? (() => performance.now());
  }

  /** For the queue: called after the commit that made the job claimable. */
  readonly ring = (job: Ring): void => {
    // A job that waits for its time is rung when that has come, by the second round.
    if (job.after_ms > 0) this.ringAllAfter(job, job.after_ms);
    else this.ringNow(job);
  };

  /** For the queue: in the transaction that makes the job claimable. Answers the jobs that need no ring after its commit. */
  readonly offer = async (tx: Transaction, job: Ring): Promise<readonly string[]> => {
    const taken = await this.options.claims.offer(tx, job);
    if (taken !== 'looks') return taken;
    tx.afterCommit(() => this.ringAllAfter(job, limits.ringAllAfterMs));
    return [job.id];
  };

  private ringNow(job: Ring): void {
    const { bell, claims } = this.options;
    this.ringAllAfter(job, limits.ringAllAfterMs);
    if (claims.wakeOne(job)) return;
    const chosen = this.choose(job);
    if (chosen !== undefined) this.rung.set(chosen, (this.rung.get(chosen) ?? 0) + 1);
    // Claims of whom no row tells may wait on other controllers.
    bell.ring(chosen === undefined ? bells.controllers : bells.worker(chosen));
  }

  /** Somebody has it: no second round. */
  settled(job: string): void {
    this.pending.delete(job);
  }

  /** Each second: reads who is there, and rings all that fit for what was rung a second ago and not taken here. */
  async sweep(): Promise<void> {
    this.live = await this.options.liveWorkers();
    this.rung.clear();
    const now = this.now();
    const due = [...this.pending.values()].filter(({ allAt }) => allAt <= now);
    const workers = new Set<string>();
    for (const { job } of due) {
      this.pending.delete(job.id);
      for (const worker of this.live) if (hasRoom(worker, 0) && fits(worker, job)) workers.add(worker.id);
    }
    for (const id of workers) this.options.bell.ring(bells.worker(id));
    if (due.length === 0) return;
    this.options.claims.wakeAll();
    this.options.bell.ring(bells.controllers);
  }

  private ringAllAfter(job: Ring, ms: number): void {
    if (this.pending.size < mostPending) this.pending.set(job.id, { job, allAt: this.now() + ms });
  }

  private choose(job: Ring): string | undefined {
    const fitting = this.live.filter((worker) => fits(worker, job) && hasRoom(worker, this.rung.get(worker.id) ?? 0));
    const preferred = fitting.find(({ id }) => id === job.prefer);
    if (preferred) return preferred.id;
    const room = (worker: LiveWorker) => worker.slots - worker.busy - (this.rung.get(worker.id) ?? 0);
    return fitting.reduce<LiveWorker | undefined>(
      (best, worker) => (best === undefined || room(worker) > room(best) ? worker : best),
      undefined,
    )?.id;
  }
}

function hasRoom(worker: LiveWorker, rung: number): boolean {
  return worker.accepting && worker.busy + rung < worker.slots;
}
