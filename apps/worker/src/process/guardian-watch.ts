import type { FreezeCause, TreeEnd } from './guarded-tree.js';
import type { GuardianReport } from './guardian-messages.js';
import { type Instant, instantOf, type LeaseTime, leftOf, type MonotonicClock, sleptBetween } from './monotonic.js';
import type { ProcessTree } from './process-tree.js';

/** A sleep shorter than this is the noise of the two clocks. */
const sleepThresholdMs = 2_000;
/** How often the two clocks are compared, and how often a frozen tree is looked at. */
const lookEveryMs = 250;
const lookFrozenEveryMs = 1_000;

type Watching = 'running' | 'frozen' | 'ending';

/**
 * What a guardian does with its tree: freeze it at the lease's end or after a sleep of the machine (H3, H15, D18), thaw it on
 * the worker's word, end it. Acts are done one after the other, in the order in which they came.
 */
export class GuardianWatch {
  private state: Watching = 'running';
  private turn: Promise<void> = Promise.resolve();
  private ended: Promise<TreeEnd> | undefined;
  /** The last look at which the machine had not slept. */
  private awake: Instant;

  constructor(
    private readonly tree: ProcessTree,
    private readonly clock: MonotonicClock,
    private lease: LeaseTime,
    private readonly report: (report: GuardianReport) => void,
  ) {
    this.awake = instantOf(clock);
  }

  /** Looks at both clocks and acts. Called by a timer, and by tests with a clock of their own. */
  look(): Promise<void> {
    return this.inTurn(async () => {
      if (this.state === 'ending') return;
      const now = instantOf(this.clock);
      const slept = sleptBetween(this.awake, now) >= sleepThresholdMs;
      if (this.state === 'frozen') {
        // Somebody may have sent CONT, and one may have been in a system call that could not be stopped.
        await this.tree.freeze();
      } else if (slept) {
        await this.freezeFor('machine_slept');
      } else if (leftOf(this.lease, now) <= 0) {
        await this.freezeFor('lease_end');
      } else {
        this.awake = now;
      }
    });
  }

  /** Milliseconds until the next look: at the lease's end, and often enough to notice a sleep. */
  nextLookMs(): number {
    if (this.state === 'frozen') return lookFrozenEveryMs;
    return Math.min(lookEveryMs, Math.max(1, leftOf(this.lease, instantOf(this.clock))));
  }

  renew(lease: LeaseTime): Promise<void> {
    return this.inTurn(async () => {
      this.lease = lease;
      // Whatever hides from the marker later is remembered while its parents still live.
      this.tree.members();
    });
  }

  thaw(lease: LeaseTime): Promise<void> {
    return this.inTurn(async () => {
      this.lease = lease;
      const now = instantOf(this.clock);
      const good = leftOf(lease, now) > 0 && sleptBetween(lease.sentAt, now) < sleepThresholdMs;
      if (good && this.state === 'frozen') {
        this.awake = now;
        this.state = 'running';
        this.report({ type: 'state', state: 'running' });
        this.tree.thaw();
      }
      this.report({ type: 'done', state: this.state === 'running' ? 'running' : 'frozen' });
    });
  }

  freeze(): Promise<void> {
    return this.inTurn(async () => {
      if (this.state === 'running') await this.freezeFor('asked');
      this.report({ type: 'done', state: this.state === 'running' ? 'running' : 'frozen' });
    });
  }

  /** Ends the tree; a second call can only shorten the grace. */
  end(graceMs: number): Promise<TreeEnd> {
    if (this.ended !== undefined) this.tree.hurry(graceMs);
    this.ended ??= this.turn.then(() => {
      this.state = 'ending';
      this.report({ type: 'state', state: 'ending' });
      return this.tree.end(graceMs);
    });
    return this.ended;
  }

  /**
   * The worker is gone: nobody can thaw any more, so the lease's end is the end of the grace, and a frozen tree gets none (it
   * must not run past its lease again).
   */
  endOrphan(graceMs: number): Promise<TreeEnd> {
    const left = Math.max(0, leftOf(this.lease, instantOf(this.clock)));
    return this.end(this.state === 'frozen' ? 0 : Math.min(graceMs, left));
  }

  private async freezeFor(cause: FreezeCause): Promise<void> {
    this.state = 'frozen';
    await this.tree.freeze();
    this.report({ type: 'state', state: 'frozen', cause });
  }

  private inTurn(act: () => Promise<void>): Promise<void> {
    this.turn = this.turn.then(() => (this.ended === undefined ? act() : undefined));
    return this.turn;
  }
}
