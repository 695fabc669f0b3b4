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
  readonly accept: (job: LeasedJob, sentAt: Instant) => void;
  /** A ring would be heard. */
  readonly hears: () => boolean;
  readonly log: Log;
}

/**
 * Waits for a ring or 5 s with jitter, then looks (H18). While no ring can be heard, the controller holds the claim open instead.
 */
export class ClaimLoop {
  /** The farm gives this worker nothing: asking less is enough. */
  paused = false;
  private readonly claims: Claims;
  private readonly rest = new Wakeable();
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;
  private unanswered = 0;

  constructor(private readonly needs: LoopNeeds) {
    this.claims = new Claims(needs.farm);
  }

  start(): void {
    this.loop ??= this.run();
  }

  /** A ring, or a slot became free: look again. */
  look(): void {
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
      await this.rest.sleep(most * (0.9 + Math.random() * 0.2));
    }
  }

  /** `took`: it is worth looking again at once. */
  private async once(signal: AbortSignal): Promise<'took' | 'nothing' | 'unanswered'> {
    const { regain, freeSlots, accept, hears, log } = this.needs;
    const free = freeSlots();
    if (free <= 0 || regain.isBusy || this.paused) return 'nothing';
    const wait = hears() ? 0 : limits.claimWaitSeconds;
    const since = machineClock.now();
    try {
      const { jobs, sentAt } = await this.claims.ask(free, wait, [], signal);
      if (signal.aborted) return 'nothing';
      for (const job of jobs) accept(job, sentAt);
      // an empty answer that came at once was no waiting
      return jobs.length > 0 || machineClock.now() - since > 1_000 ? 'took' : 'nothing';
    } catch (error) {
      if (!signal.aborted) log.debug({ fault: faultOf(error) }, 'a claim was not answered');
      return 'unanswered';
    }
  }
}
