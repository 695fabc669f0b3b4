import { uptime } from 'node:os';

/**
 * The machine's two clocks that nobody can set, in milliseconds from an arbitrary point (H15).
 * `now` stands still while the machine sleeps, `bootNow` does not: what they drift apart is the sleep.
 * Both are shared by all processes of a machine, so an Instant may cross a pipe between worker and guardian.
 */
export interface MonotonicClock {
  now(): number;
  /** Coarse (about 10 ms). */
  bootNow(): number;
}

export const machineClock: MonotonicClock = {
  now: () => Number(process.hrtime.bigint() / 1_000n) / 1_000,
  bootNow: () => uptime() * 1_000,
};

/** One reading of both clocks. */
export interface Instant {
  readonly mono: number;
  readonly boot: number;
}

export function instantOf(clock: MonotonicClock): Instant {
  return { mono: clock.now(), boot: clock.bootNow() };
}

/** Milliseconds that the machine slept between two readings; noise of the coarse clock included. */
export function sleptBetween(earlier: Instant, later: Instant): number {
  return later.boot - earlier.boot - (later.mono - earlier.mono);
}

/**
 * A hold on a job: `leaseMs` from the sending of the request that was answered, never from the reply (H15, D18).
 */
export interface LeaseTime {
  readonly sentAt: Instant;
  readonly leaseMs: number;
}

/** Milliseconds left of a lease, by the clock that ran further; 0 or less when it is over. */
export function leftOf(lease: LeaseTime, at: Instant): number {
  return lease.leaseMs - Math.max(at.mono - lease.sentAt.mono, at.boot - lease.sentAt.boot - bootResolutionMs);
}

/** The boot clock is read in hundredths of a second: never let its rounding end a lease early. */
const bootResolutionMs = 20;
