import { type LeasedJob, limits } from '#contracts';
import type { Farm } from '../controller/farm.js';
import { faultOf, type Log } from '../log.js';
import { type Instant, machineClock } from '../process/monotonic.js';
import { Claims } from './claims.js';
import type { Regain } from './regain.js';
import { Wakeable } from './wakeable.js';

interface LoopNeeds {
  readonly farm: Farm;
  readonly regain: Regain;
  readonly freeSlots: () => number;
  /** The farm has not said for a while what it thinks of a lease that is held here: that may be lost, and comes first then (D11). */
  readonly inDoubt: () => boolean;
  readonly accept: (job: LeasedJob, sentAt: Instant) => void;
  readonly log: Log;
}

/**
 * Holds a claim open at the controller, which gives it what comes, and asks anew after 5 s with jitter, whatever rang (H18). One job
 * at a time, as others may have room for the next.
 */
export class ClaimLoop {
  /** The farm gives this worker nothing: asking less is enough. */
  paused = false;
  private readonly claims: Claims;
  private readonly rest = new Wakeable();
  private readonly stopping = new AbortController();
  private asking = new AbortController();
  private loop: Promise<void> | undefined;
  private unanswered = 0;

  constructor(private readonly needs: LoopNeeds) {
    this.claims = new Claims(needs.farm);
  }

  start(): void {
    this.loop ??= this.run();
  }

  /** A ring, or what it may claim has changed: look again. An open claim without room is taken back, and repeated when there is. */
  look(): void {
    if (!this.hasRoom) this.asking.abort();
    this.rest.wake();
  }

  /** Claims nothing from here on. A lease that an open claim was just given goes back by itself, uncounted (H7). */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.rest.wake();
    await this.loop;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const took = await this.once(signal);
      if (took === 'took' || signal.aborted) continue;
      // an answer that was lost may have held a lease: ask for it while that is fresh (H7)
      this.unanswered = took === 'unanswered' ? this.unanswered + 1 : 0;
      const most = took === 'unanswered' ? Math.min(limits.pollMs, 1_000 * this.unanswered) : limits.pollMs;
      await this.rest.sleep(jittered(most));
    }
  }

  private get hasRoom(): boolean {
    const { freeSlots, inDoubt, regain } = this.needs;
    return freeSlots() > 0 && !inDoubt() && !regain.isBusy && !this.paused;
  }

  /** `took`: it is worth looking again at once. */
  private async once(stopping: AbortSignal): Promise<'took' | 'nothing' | 'unanswered'> {
    if (!this.hasRoom) return 'nothing';
    const { accept, log } = this.needs;
    this.asking = new AbortController();
    const signal = AbortSignal.any([stopping, this.asking.signal]);
    const since = machineClock.now();
    try {
      const { jobs, sentAt } = await this.claims.ask(1, jittered(limits.pollMs) / 1_000, [], signal);
      if (stopping.aborted) return 'nothing';
      for (const job of jobs) accept(job, sentAt);
      // an empty answer that came at once was no waiting
      return jobs.length > 0 || machineClock.now() - since > 1_000 ? 'took' : 'nothing';
    } catch (error) {
      if (!signal.aborted) log.debug({ fault: faultOf(error) }, 'a claim was not answered');
      return 'unanswered';
    }
  }
}

/** Never more: the controller looks again by itself after as long as that, and whoever asks anew need not be looked for twice. */
function jittered(ms: number): number {
  return ms * (0.9 + Math.random() * 0.1);
}
