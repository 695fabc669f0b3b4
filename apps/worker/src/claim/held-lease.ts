import { EventEmitter } from 'node:events';
import type { z } from 'zod';
import {
  type DispatchProgress,
  type EndRequest,
  type JobPhase,
  type LeaseBeat,
  type LeasedJob,
  type LeaseReply,
  Progress,
} from '#contracts';
import {
  type Instant,
  instantOf,
  type LeaseTime,
  leftOf,
  type MonotonicClock,
  machineClock,
} from '../process/monotonic.js';

/** Which lease of a job: the whole fence but for the holder, who is in the worker's token. */
export interface LeaseFence {
  readonly job_id: string;
  readonly epoch: number;
  readonly lease_id: string;
}

type End = z.output<typeof EndRequest>;
export type SteerOrder = { readonly seq: number; readonly text: string };
export type SignalOutcome = LeaseBeat['acks'][number];

interface LeaseEvents {
  /** A beat was answered: the lease counts from its sending. */
  renewed: [LeaseTime];
  /** The same, with the beat as it was sent: what it said is committed. */
  heard: [LeaseBeat];
  /** The farm says that this lease is over; whether it is given back is not known yet. */
  stale: [];
  /** Given back at the next epoch: the same session goes on (D11). */
  moved: [LeaseTime];
  /** Somebody else has the job, or nobody will. */
  lost: [];
  /** A call was refused for the lease: a beat decides whether it is over, or only the token was old. */
  questioned: [];
  end: [End];
  interrupt: [];
  steer: [readonly SteerOrder[]];
}

/**
 * The hold on one job, as far as this worker can know it. Sure only while the last beat was answered and its lease time is not
 * over: whoever may not act on a doubt waits for `sure` (D18).
 */
export class HeldLease extends EventEmitter<LeaseEvents> {
  readonly job: string;
  phase: JobPhase = 'preparing';
  sessionRef: string | undefined;
  /** What the next beat tells of the work, until a beat with it is answered. */
  private progress: LeaseBeat['progress'];
  /** The farm's word on this lease is awaited from a call that settles it; beats do not decide then. */
  settling = false;
  private holds: LeaseFence;
  private lease: LeaseTime;
  private secret: string;
  private state: 'held' | 'settled' | 'stale' | 'lost' = 'held';
  private doubtful = true;
  private activeAt: number;
  private acks: SignalOutcome[] = [];
  private readonly waiting = new Set<() => void>();

  /** `sentAt`: when the claim was sent. Not sure before the first beat is answered: a claim may have waited long. */
  constructor(
    leased: LeasedJob,
    sentAt: Instant,
    private readonly clock: MonotonicClock = machineClock,
  ) {
    super();
    this.job = leased.id;
    this.holds = { job_id: leased.id, epoch: leased.epoch, lease_id: leased.lease_id };
    this.lease = { sentAt, leaseMs: leased.lease_ms };
    this.secret = leased.token;
    this.activeAt = clock.now();
  }

  get fence(): LeaseFence {
    return this.holds;
  }

  get epoch(): number {
    return this.holds.epoch;
  }

  get token(): string {
    return this.secret;
  }

  get time(): LeaseTime {
    return this.lease;
  }

  get isLost(): boolean {
    return this.state === 'lost';
  }

  get isStale(): boolean {
    return this.state === 'stale';
  }

  get isSure(): boolean {
    return this.state === 'held' && !this.doubtful && leftOf(this.lease, instantOf(this.clock)) > 0;
  }

  /** Waits until the farm has answered for this lease. */
  async sure(): Promise<'held' | 'lost'> {
    while (!this.isSure) {
      if (this.isLost || this.state === 'settled') return 'lost';
      await new Promise<void>((resolve) => this.waiting.add(resolve));
    }
    return 'held';
  }

  /** A newer word takes the place of one that is not told yet. */
  report(progress: z.output<typeof DispatchProgress>): void {
    this.progress = Progress.parse(progress);
  }

  /** A sign of life of the session. */
  touch(): void {
    this.activeAt = this.clock.now();
  }

  get idleMs(): number {
    return Math.max(0, Math.round(this.clock.now() - this.activeAt));
  }

  acknowledge(outcome: SignalOutcome): void {
    this.acks.push(outcome);
  }

  /** What a beat says of this lease; nothing while another claim decides about it. */
  beat(): LeaseBeat | undefined {
    if (this.state !== 'held') return undefined;
    return {
      ...this.holds,
      phase: this.phase,
      ...(this.sessionRef === undefined ? {} : { session_ref: this.sessionRef }),
      idle_ms: this.idleMs,
      ...(this.progress === undefined ? {} : { progress: this.progress }),
      acks: this.acks.slice(0, 64),
    };
  }

  /** No answer to a beat: nothing is certain until one comes (D18). */
  doubt(): void {
    this.doubtful = true;
  }

  /** The reply to a beat that was sent at `sentAt`. Late and doubled replies do no harm. */
  hear(sent: LeaseBeat, sentAt: Instant, reply: LeaseReply): void {
    if (this.state !== 'held' || sent.lease_id !== this.holds.lease_id || sent.epoch !== this.holds.epoch) return;
    if (!reply.held) {
      if (!this.settling) this.markStale();
      return;
    }
    const told = new Set(sent.acks.map((ack) => ack.seq));
    this.acks = this.acks.filter((ack) => !told.has(ack.seq));
    if (sent.progress === this.progress) this.progress = undefined;
    if (sentAt.mono >= this.lease.sentAt.mono) {
      this.lease = { sentAt, leaseMs: reply.lease_ms };
      this.secret = reply.token;
    }
    this.doubtful = false;
    this.emit('renewed', this.lease);
    this.emit('heard', sent);
    this.wake();
    if (reply.end !== undefined) this.emit('end', reply.end);
    if (reply.interrupt === true) this.emit('interrupt');
    if (reply.steer !== undefined && reply.steer.length > 0) this.emit('steer', reply.steer);
  }

  /**
   * A call was refused with `stale_lease`. That is no proof: after an outage the token may be older than the lease. Nothing is
   * sure until the next beat. `fence`: what the call showed; an older one says nothing of this.
   */
  question(fence: LeaseFence): void {
    if (this.state !== 'held' || fence.lease_id !== this.holds.lease_id || fence.epoch !== this.holds.epoch) return;
    this.doubtful = true;
    this.emit('questioned');
  }

  /**
   * The farm took the call that ends it. A beat that was on its way meanwhile may still be told that nobody holds the job: that is
   * no loss.
   */
  close(): void {
    if (this.state !== 'held') return;
    this.state = 'settled';
    this.wake();
  }

  private markStale(): void {
    this.state = 'stale';
    this.doubtful = true;
    this.emit('stale');
  }

  /** Claimed again, with `continues`. */
  move(leased: LeasedJob, sentAt: Instant): void {
    if (this.state === 'lost') return;
    this.holds = { job_id: leased.id, epoch: leased.epoch, lease_id: leased.lease_id };
    this.lease = { sentAt, leaseMs: leased.lease_ms };
    this.secret = leased.token;
    this.state = 'held';
    this.doubtful = false;
    this.touch();
    this.emit('moved', this.lease);
    this.wake();
  }

  lose(): void {
    if (this.state === 'lost') return;
    this.state = 'lost';
    this.emit('lost');
    this.wake();
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }
}
