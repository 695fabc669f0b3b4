import type { LeasedJob } from '#contracts';
import { limits } from '#contracts';
import type { Farm } from '../controller/farm.js';
import { faultOf, type Log } from '../log.js';
import type { Instant } from '../process/monotonic.js';
import { Claims } from './claims.js';
import type { HeldLease } from './held-lease.js';
import { Wakeable } from './wakeable.js';

/** The farm may know that a lease is over before its sweep has queued the job: so often it is asked before we believe it gone. */
const asksBeforeLost = 5;

/**
 * Claims back what was frozen, before anything else is claimed (D11). The farm's answer decides: the same session goes on at the
 * next epoch, or another has the job and the lease is lost.
 */
export class Regain {
  private readonly stale = new Map<HeldLease, number>();
  private readonly claims: Claims;
  private readonly rest = new Wakeable();
  private running: Promise<void> | undefined;

  constructor(
    farm: Farm,
    private readonly accept: (job: LeasedJob, sentAt: Instant) => void,
    /** Something is to be regained, or nothing any more: other work may be claimed then only. */
    private readonly onChange: () => void,
    private readonly log: Log,
  ) {
    this.claims = new Claims(farm);
  }

  get isBusy(): boolean {
    return this.stale.size > 0;
  }

  add(lease: HeldLease): void {
    if (!this.stale.has(lease)) this.stale.set(lease, 0);
    this.onChange();
    this.rest.wake();
    this.start();
  }

  private start(): void {
    this.running ??= this.run().finally(() => {
      this.running = undefined;
      // one that came just after the last look
      if (this.isBusy) this.start();
      else this.onChange();
    });
  }

  private async run(): Promise<void> {
    while (this.stale.size > 0) {
      await this.once();
      if (this.stale.size > 0) await this.rest.sleep(limits.sweepMs);
    }
  }

  private async once(): Promise<void> {
    const asked = [...this.stale.keys()];
    try {
      const { jobs, sentAt } = await this.claims.ask(
        asked.length,
        0,
        asked.map((lease) => lease.fence),
      );
      for (const job of jobs) {
        const lease = asked.find((candidate) => candidate.job === job.id && candidate.isStale);
        if (lease !== undefined && job.continues) lease.move(job, sentAt);
        else {
          lease?.lose();
          this.accept(job, sentAt);
        }
      }
    } catch (error) {
      this.log.debug({ fault: faultOf(error) }, 'the claim of frozen jobs was not answered');
      return;
    }
    for (const lease of asked) {
      const asks = (this.stale.get(lease) ?? 0) + 1;
      if (lease.isStale && asks < asksBeforeLost) this.stale.set(lease, asks);
      else {
        this.stale.delete(lease);
        if (lease.isStale) lease.lose();
      }
    }
  }
}
