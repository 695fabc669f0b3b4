import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { LeaseBeat, LeasedJob, LeaseReply } from '#contracts';
import { instantOf, leftOf, type MonotonicClock } from '../process/monotonic.js';
import { HeldLease } from './held-lease.js';

const leaseMs = 30_000;

describe('the hold on a job', () => {
  it('D18 is not sure before the first beat is answered, however fresh the claim', async () => {
    const { lease, beat } = aLease();
    expect(lease.isSure).toBe(false);
    let answered = false;
    const waiting = lease.sure().then((how) => {
      answered = true;
      return how;
    });
    await Promise.resolve();
    expect(answered).toBe(false);
    beat()();
    expect(await waiting).toBe('held');
  });

  it('that was ended here is no loss, though a beat that was under way is told that nobody holds the job', async () => {
    const { lease, beat } = aLease();
    beat()();
    const said: string[] = [];
    for (const event of ['stale', 'lost'] as const) lease.on(event, () => said.push(event));
    const late = beat({ held: false });
    lease.close();
    late();
    expect(said).toEqual([]);
    expect(lease.beat()).toBeUndefined();
  });

  it('H15 counts the lease from the sending of the beat, not from its answer', () => {
    const { lease, beat, clock } = aLease();
    const answer = beat();
    clock.pass(20_000);
    answer();
    expect(leftOf(lease.time, instantOf(clock))).toBe(10_000);
    clock.pass(10_000);
    expect(lease.isSure).toBe(false);
  });

  it('H15 gains nothing from the answer to an older beat that comes after a newer one', () => {
    const { lease, beat, clock } = aLease();
    const older = beat();
    clock.pass(5_000);
    beat()();
    older();
    expect(leftOf(lease.time, instantOf(clock))).toBe(leaseMs);
  });

  it('H15 is over after a sleep of the machine, though the monotonic clock stood still', () => {
    const { lease, beat, clock } = aLease();
    beat()();
    expect(lease.isSure).toBe(true);
    clock.sleep(60_000);
    expect(lease.isSure).toBe(false);
  });

  it('D18 knows nothing for certain after a beat without an answer, until one comes', async () => {
    const { lease, beat } = aLease();
    beat()();
    lease.doubt();
    expect(lease.isSure).toBe(false);
    beat()();
    expect(await lease.sure()).toBe('held');
  });

  it('hears nothing of an older epoch once it was given back', () => {
    const { lease, beat, clock, leased } = aLease();
    const old = beat({ held: false });
    const stale = beat({ held: false });
    stale();
    expect(lease.isStale).toBe(true);
    lease.move({ ...leased, epoch: 2, lease_id: randomUUID(), continues: true }, instantOf(clock));
    old();
    expect(lease.isStale).toBe(false);
    expect(lease.isSure).toBe(true);
  });

  it('takes a refused call for a question and not for the end', () => {
    const { lease, beat } = aLease();
    beat()();
    lease.question(lease.fence);
    expect([lease.isSure, lease.isStale]).toEqual([false, false]);
    beat()();
    expect(lease.isSure).toBe(true);
  });

  it('D13 lets the call that settles the lease have the last word', () => {
    const { lease, beat } = aLease();
    beat()();
    lease.settling = true;
    beat({ held: false })();
    expect(lease.isStale).toBe(false);
    lease.settling = false;
    beat({ held: false })();
    expect(lease.isStale).toBe(true);
  });

  it('tells an outcome until a beat that carried it is answered', () => {
    const { lease, beat } = aLease();
    const before = beat();
    lease.acknowledge({ seq: 1, outcome: 'delivered' });
    before();
    expect(lease.beat()?.acks).toHaveLength(1);
    beat()();
    expect(lease.beat()?.acks).toEqual([]);
  });
});

class TestClock implements MonotonicClock {
  mono = 1_000;
  boot = 50_000;
  now = () => this.mono;
  bootNow = () => this.boot;

  pass(ms: number): void {
    this.mono += ms;
    this.boot += ms;
  }

  sleep(ms: number): void {
    this.boot += ms;
  }
}

function aLease() {
  const clock = new TestClock();
  const leased: LeasedJob = {
    id: randomUUID(),
    kind: 'dispatch',
    epoch: 1,
    lease_id: randomUUID(),
    lease_ms: leaseMs,
    heartbeat_ms: 10_000,
    token: 'token',
    continues: false,
    payload: {},
  };
  const lease = new HeldLease(leased, instantOf(clock), clock);
  /** Sends a beat now; the answer is heard when it is called. */
  const beat = (answer: { held: boolean } = { held: true }): (() => void) => {
    const sent: LeaseBeat | undefined = lease.beat();
    const sentAt = instantOf(clock);
    const reply: LeaseReply = answer.held
      ? { held: true, job_id: leased.id, lease_ms: leaseMs, token: 'fresh' }
      : { held: false, job_id: leased.id, code: 'stale_lease' };
    return () => {
      if (sent !== undefined) lease.hear(sent, sentAt, reply);
    };
  };
  return { clock, lease, leased, beat };
}
