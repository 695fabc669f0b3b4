import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '#contracts';
import type { GuardianReport } from './guardian-messages.js';
import { GuardianWatch } from './guardian-watch.js';
import { instantOf, leftOf } from './monotonic.js';
import { ProcessTree } from './process-tree.js';
import { markerEnvironment } from './tree-marker.js';

/** Both clocks in the test's hands; the processes are real. */
class HeldClock {
  private mono = 1_000_000;
  private boot = 5_000_000;
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

const hour = 3_600_000;
let clock: HeldClock;
let child: ChildProcess;
let tree: ProcessTree;
let reports: GuardianReport[];

beforeEach(() => {
  clock = new HeldClock();
  reports = [];
  const marker = { worker: `w_${newId()}`, job: newId(), epoch: 1 };
  child = spawn('/bin/sh', ['-c', 'while :; do sleep 0.05; done'], {
    env: { PATH: process.env.PATH, ...markerEnvironment(marker) },
    detached: true,
    stdio: 'ignore',
  });
  tree = new ProcessTree(marker);
  // As the guardian does: until its program has begun, nothing but its number tells whose it is.
  tree.adopt(child.pid ?? 0);
});
afterEach(() => tree.end(0));

describe('H15 the lease on the worker', () => {
  it('H15 freezes at once after the machine slept, though the lease is far from over', async () => {
    const watch = watched(10 * hour);
    clock.pass(250);
    await watch.look();
    expect(await isStopped()).toBe(false);

    clock.sleep(5 * 60_000);
    await watch.look();

    expect(await isStopped()).toBe(true);
    expect(reports).toEqual([{ type: 'state', state: 'frozen', cause: 'machine_slept' }]);
  });

  it('H15 goes on only under an answer to a request that was sent after the sleep', async () => {
    const watch = watched(10 * hour);
    const sentBefore = instantOf(clock);
    clock.sleep(5 * 60_000);
    await watch.look();

    await watch.thaw({ sentAt: sentBefore, leaseMs: 10 * hour });
    expect(await isStopped()).toBe(true);
    expect(reports.at(-1)).toEqual({ type: 'done', state: 'frozen' });

    await watch.thaw({ sentAt: instantOf(clock), leaseMs: 30_000 });
    expect(await isStopped()).toBe(false);
    expect(reports.at(-1)).toEqual({ type: 'done', state: 'running' });
    await watch.look();
    expect(await isStopped()).toBe(false);
  });

  it('H15 freezes first when an answer from before the sleep is heard before the sleep is noticed', async () => {
    const watch = watched(30_000);
    const sentAt = instantOf(clock);
    clock.sleep(10_000);
    await watch.renew({ sentAt, leaseMs: 10 * hour });
    await watch.look();
    expect(await isStopped()).toBe(true);
  });

  it('H15 D18 counts the lease from the sending of the request, not from a reply that came 20 s late', async () => {
    const watch = watched(30_000);
    const sentAt = instantOf(clock);
    clock.pass(20_000);
    await watch.renew({ sentAt, leaseMs: 30_000 });
    clock.pass(9_000);
    await watch.look();
    expect(await isStopped()).toBe(false);

    clock.pass(1_100);
    await watch.look();
    expect(await isStopped()).toBe(true);
    expect(reports.at(-1)).toEqual({ type: 'state', state: 'frozen', cause: 'lease_end' });
  });

  it('H15 takes no notice of the time of day', async () => {
    const watch = watched(30_000);
    const { now } = Date;
    try {
      for (const skew of [hour, -hour]) {
        Date.now = () => now() + skew;
        await watch.look();
        expect(await isStopped()).toBe(false);
      }
    } finally {
      Date.now = now;
    }
  });

  it('does not thaw under a lease that is over, nor for a renewal alone', async () => {
    const watch = watched(1_000);
    clock.pass(1_100);
    await watch.look();
    await watch.renew({ sentAt: instantOf(clock), leaseMs: 30_000 });
    await watch.look();
    expect(await isStopped()).toBe(true);

    const sentAt = instantOf(clock);
    clock.pass(31_000);
    await watch.thaw({ sentAt, leaseMs: 30_000 });
    expect(await isStopped()).toBe(true);
  });

  it('stops again what somebody let run while the tree was frozen', async () => {
    const watch = watched(1_000);
    clock.pass(1_100);
    await watch.look();
    for (const row of tree.members()) process.kill(row.pid, 'SIGCONT');
    await watch.look();
    expect(await isStopped()).toBe(true);
  });

  it('looks at the lease end itself and often enough before it', () => {
    const watch = watched(30_000);
    expect(watch.nextLookMs()).toBe(250);
    clock.pass(29_990);
    expect(watch.nextLookMs()).toBeLessThanOrEqual(30);
    expect(leftOf({ sentAt: instantOf(clock), leaseMs: 5 }, instantOf(clock))).toBe(5);
  });
});

function watched(leaseMs: number): GuardianWatch {
  return new GuardianWatch(tree, clock, { sentAt: instantOf(clock), leaseMs }, (report) => reports.push(report));
}

async function isStopped(): Promise<boolean> {
  const stat = await readFile(`/proc/${child.pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}
