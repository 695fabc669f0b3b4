import type { Dispatcher } from 'undici';
import type { z } from 'zod';
import { FarmError, jobHeartbeat, type LeaseBeat, limits, type WorkerReport } from '#contracts';
import type { Farm } from '../controller/farm.js';
import type { EventLines } from '../event-lines.js';
import { faultOf, type Log } from '../log.js';
import { instantOf, machineClock } from '../process/monotonic.js';
import type { HeldLease } from './held-lease.js';
import { Wakeable } from './wakeable.js';

type BeatReply = z.output<typeof jobHeartbeat.output>;

interface BeatsNeed {
  readonly farm: Farm;
  readonly leases: () => Iterable<HeldLease>;
  readonly report: () => WorkerReport;
  readonly onWorker: (worker: BeatReply['worker']) => void;
  /** Beats are answered again, or no more. */
  readonly onAnswering: () => void;
  readonly log: Log;
  readonly line: EventLines;
}

/** Between a beat and the next that a ring asks for. */
const ringRestMs = 1_000;

/**
 * Says every 10 s that this worker lives and holds what it holds, at once when a phase changes, on a connection of its own.
 * Without an answer it asks again every 2 s on a fresh connection; any answer counts, from the sending of its own beat (D18, H15).
 */
export class Beats {
  /** As the farm asked with the claims. */
  everyMs: number = limits.heartbeatMs;
  private readonly rest = new Wakeable();
  private connection: Dispatcher;
  private stopped = false;
  private answering = true;
  private displaced = false;
  private loop: Promise<void> | undefined;
  private beatenAt = Number.NEGATIVE_INFINITY;
  private later: NodeJS.Timeout | undefined;

  constructor(private readonly need: BeatsNeed) {
    this.connection = need.farm.connections.fresh();
  }

  start(): void {
    this.loop ??= this.run();
  }

  /** A phase changed, or a doubt is to be ended: beat now. */
  soon(): void {
    this.rest.wake();
  }

  /** It rang: perhaps the farm has something to say of what runs here. Once a second at most (H25). */
  heard(): void {
    const left = this.beatenAt + ringRestMs - performance.now();
    if (left <= 0) this.soon();
    else this.later ??= setTimeout(() => this.soon(), left).unref();
  }

  /** The last words of this boot: its identity is free again (D16). Tried a few times, because nobody waits for it. */
  async sayGoodbye(): Promise<void> {
    this.stopped = true;
    this.rest.wake();
    await this.loop;
    for (let turn = 0; turn < 3; turn += 1) {
      const answer = await this.beat({ ...this.need.report(), goodbye: true }, []).catch(() => undefined);
      if (answer !== undefined) break;
    }
    await this.connection.destroy();
  }

  /** The last beat was answered, or none was sent. */
  get isAnswered(): boolean {
    return this.answering;
  }

  private get retryMs(): number {
    return Math.max(250, Math.min(limits.beatRetryMs, this.everyMs / 5));
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      const startedAt = machineClock.now();
      const answered = await this.once();
      const pauseMs = answered ? this.everyMs : this.retryMs - (machineClock.now() - startedAt);
      if (!this.stopped && pauseMs > 0) await this.rest.sleep(pauseMs);
    }
  }

  /** One beat; false when no answer came in time. A late answer still counts. */
  private async once(): Promise<boolean> {
    const leases = [...this.need.leases()];
    this.beatenAt = performance.now();
    clearTimeout(this.later);
    this.later = undefined;
    const answer = this.sendFor(leases);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), this.retryMs);
    });
    const answered = await Promise.race([answer, late]);
    clearTimeout(timer);
    if (!answered) {
      for (const lease of leases) lease.doubt();
      this.noteAnswering(false);
      this.connection = this.need.farm.connections.fresh();
    }
    return answered;
  }

  private async sendFor(leases: readonly HeldLease[]): Promise<boolean> {
    const beats = leases.flatMap((lease) => {
      const beat = lease.beat();
      return beat === undefined ? [] : [{ lease, beat }];
    });
    const sentAt = instantOf(machineClock);
    const { connection } = this;
    try {
      const reply = await this.beat(
        this.need.report(),
        beats.map(({ beat }) => beat),
      );
      this.noteAnswering(true);
      const replies = new Map(reply.leases.map((lease) => [lease.job_id, lease]));
      for (const { lease, beat } of beats) {
        const told = replies.get(lease.job);
        if (told !== undefined) lease.hear(beat, sentAt, told);
      }
      this.need.onWorker(reply.worker);
      return true;
    } catch (error) {
      this.noteRefusal(error);
      return false;
    } finally {
      if (connection !== this.connection) void connection.destroy();
    }
  }

  private beat(worker: WorkerReport, leases: LeaseBeat[]): Promise<BeatReply> {
    const timeoutMs = Math.max(2_000, this.everyMs * 2);
    return this.need.farm.call(jobHeartbeat, { worker, leases }, { dispatcher: this.connection, timeoutMs });
  }

  /** Somebody else with this identity is said once and loudly: nothing that runs here can be handed in while he beats (D16). */
  private noteRefusal(error: unknown): void {
    const inUse = error instanceof FarmError && error.code === 'identity_in_use';
    if (inUse && !this.displaced) this.need.log.error({ fault: faultOf(error) }, 'another process took this identity');
    else this.need.log.debug({ fault: faultOf(error) }, 'a beat was not answered');
    this.displaced = inUse;
  }

  private noteAnswering(answering: boolean): void {
    if (answering === this.answering) return;
    this.answering = answering;
    this.need.onAnswering();
    this.need.line(answering ? 'beat_answered' : 'beat_unanswered', {});
    if (answering) this.need.log.info('the controller answers again');
    else this.need.log.warn('the controller does not answer beats');
  }
}
