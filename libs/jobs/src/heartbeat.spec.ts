import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { limits } from '#contracts';
import { statement } from '#store';
import { aQueueFarm, fenceOf, leaseTime, type QueueFarm, type TestWorker } from '../../../test/support/queue.js';
import { aTestKind, type TestKind } from '../../../test/support/test-kind.js';

const farms: QueueFarm[] = [];
let farm: QueueFarm;
let kind: TestKind;
let north: TestWorker;
beforeEach(async () => {
  kind = aTestKind();
  farm = await aQueueFarm({ kinds: [kind] });
  farms.push(farm);
  north = farm.worker('north');
});
afterAll(() => Promise.all(farms.map((each) => each.close())));

const beatOf = (lease: Parameters<typeof fenceOf>[0], more: Record<string, unknown> = {}) => ({
  ...fenceOf(lease),
  phase: 'started' as const,
  idle_ms: 0,
  acks: [],
  ...more,
});

describe('a beat', () => {
  it('P3 renews many leases at once, with time and a fresh token each, in the order asked', async () => {
    await farm.submitMany(5);
    const leases = await north.claim(5);
    await farm.time.pass(leaseTime - 5000);
    const replies = await farm.queue.heartbeat(north.claimer, leases.map((lease) => beatOf(lease)).reverse());
    expect(replies.map((reply) => reply.job_id)).toEqual(leases.map((lease) => lease.id).reverse());
    for (const reply of replies) {
      expect(reply).toMatchObject({ held: true });
      if (!reply.held) continue;
      expect(reply.lease_ms).toBeGreaterThan(leaseTime - 1000);
      expect(leases.map((lease) => lease.token)).not.toContain(reply.token);
    }
    await farm.time.pass(leaseTime - 5000);
    expect(await farm.queue.sweep()).toMatchObject({ requeued: [], ended: [] });
  });

  it('H13 of ten leases fails alone: stale, unstorable, or with a kind that throws', async () => {
    await farm.submitMany(8);
    await farm.submit({ kind: 'turn', scope: 't_1' });
    const leases = await north.claim(9);
    const stale = { ...leases[0], id: leases[0]?.id ?? '', epoch: 7, lease_id: leases[0]?.lease_id ?? '' };
    kind.says.trouble = { hook: 'started', error: new Error('a fault of the kind') };
    const beats = [
      beatOf(stale),
      ...leases.map((lease, n) => beatOf(lease, n === 3 ? { progress: { text: 'not \u0000 storable' } } : {})),
    ];
    const replies = await farm.queue.heartbeat(north.claimer, beats);
    const held = replies.filter((reply) => reply.held).map((reply) => reply.job_id);
    const plain = leases.filter((lease) => lease.kind === 'plain').map((lease) => lease.id);
    expect(held).toEqual(plain.filter((id) => id !== leases[3]?.id));
    expect(replies.filter((reply) => !reply.held)).toEqual([{ held: false, job_id: stale.id, code: 'stale_lease' }]);
    expect(farm.troubles).toHaveLength(2);
    kind.says.trouble = undefined;
    expect(
      await farm.queue.heartbeat(
        north.claimer,
        leases.map((lease) => beatOf(lease)),
      ),
    ).toHaveLength(9);
  });

  it('D26 waits for nobody’s lock past its expiry: a lease that ended meanwhile stays lost', async () => {
    const id = await farm.submit();
    const lease = await north.claimOne();
    const locked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const blocker = farm.tx(async (tx) => {
      await tx.first(lockJob, { id });
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    const late = farm.queue.heartbeat(north.claimer, [beatOf(lease)]);
    const completion = farm.queue
      .prepareCompletion(north.claimer, fenceOf(lease), { ended: 'done', result: 1 })
      .then((prepared) =>
        farm.tx((tx) => farm.queue.complete(tx, north.claimer, fenceOf(lease), { ended: 'done', result: 1 }, prepared)),
      );
    const outcome = completion.catch((error: unknown) => error);
    await waitForLockWaiters(2);
    await farm.time.pass(leaseTime);
    release.resolve();
    await blocker;
    expect(await late).toEqual([{ held: false, job_id: id, code: 'stale_lease' }]);
    expect(await outcome).toMatchObject({ code: 'stale_lease' });
    expect(await farm.job(id)).toMatchObject({ state: 'leased', result: null });
  });

  it('comes through while another holds the job for a moment', async () => {
    const id = await farm.submit();
    const lease = await north.claimOne();
    const locked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const blocker = farm.tx(async (tx) => {
      await tx.first(lockJob, { id });
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    const beat = farm.queue.heartbeat(north.claimer, [beatOf(lease)]);
    await waitForLockWaiters(1);
    release.resolve();
    await blocker;
    expect(await beat).toMatchObject([{ held: true }]);
  });

  it('A12.21 stores progress under its epoch, and a late one never over the next holder’s', async () => {
    const id = await farm.submit();
    const first = await north.claimOne();
    await north.beat(first, 'started', { progress: { step: 1 } });
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    const south = farm.worker('south');
    const second = await south.claimOne();
    await south.beat(second, 'started', { progress: { step: 2 } });
    expect(await north.beat(first, 'started', { progress: { step: 'late' } })).toMatchObject({ held: false });
    expect(await farm.sql(`select epoch, progress, beats from lease where job = '${id}' order by epoch`)).toEqual([
      { epoch: 1, progress: { step: 1 }, beats: 1 },
      { epoch: 2, progress: { step: 2 }, beats: 1 },
    ]);
  });

  it('A12.21 tells the kind of progress, under the fence', async () => {
    await farm.submit({ kind: 'turn', scope: 't_1' });
    const lease = await north.claimOne();
    await north.beat(lease, 'started', { progress: { step: 1 }, session_ref: 's-1' });
    await farm.time.pass(leaseTime);
    await north.beat(lease, 'started', { progress: { step: 2 } });
    expect(kind.told).toEqual(['started 1', 'progress {"step":1} 1']);
    expect(await farm.job(lease.id)).toMatchObject({ session_ref: 's-1' });
  });

  it('A12.15 P3 tells of a cancel in its reply; the lease ends when nobody heeds it', async () => {
    const id = await farm.submit();
    const lease = await north.claimOne();
    expect(await north.beat(lease, 'started')).not.toHaveProperty('end');
    expect(await farm.tx((tx) => farm.queue.cancel(tx, id))).toBe('leased');
    expect(await north.beat(lease, 'started')).toMatchObject({ held: true, end: { kind: 'cancel' } });
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    expect(await north.beat(lease, 'started')).toMatchObject({ held: false });
    expect(await farm.job(id)).toMatchObject({ state: 'cancelled' });
  });

  it('P3 carries what is to be said to the session until it was delivered, and an interrupt once', async () => {
    const id = await farm.submit();
    const lease = await north.claimOne();
    await farm.tx((tx) => farm.queue.signal(tx, id, { kind: 'steer', text: 'left' }));
    await farm.tx((tx) => farm.queue.signal(tx, id, { kind: 'interrupt', text: '' }));
    const steer = [{ seq: 1, text: 'left' }];
    expect(await north.beat(lease, 'started')).toMatchObject({ steer, interrupt: true });
    const again = await north.beat(lease, 'started');
    expect(again).toMatchObject({ steer });
    expect(again).not.toHaveProperty('interrupt');
    // Another's word about it does not count.
    const acks = [{ seq: 1, outcome: 'delivered' }];
    await farm.worker('south').beat(lease, 'started', { acks });
    expect(await north.beat(lease, 'started')).toMatchObject({ steer });
    expect(await north.beat(lease, 'started', { acks })).not.toHaveProperty('steer');
    expect(await farm.queue.signalOutcomes(farm.database, id)).toEqual([
      { seq: 1, kind: 'steer', outcome: 'delivered' },
      { seq: 2, kind: 'interrupt', outcome: 'delivered' },
    ]);
    await north.complete(lease);
    await expect(farm.tx((tx) => farm.queue.signal(tx, id, { kind: 'steer', text: 'late' }))).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  it('H37 never passes the deadline of the job, however eagerly it comes', async () => {
    const id = await farm.submit({ deadline_ms: 3 * leaseTime });
    const lease = await north.claimOne();
    const given: number[] = [];
    for (let passed = 0; passed < 4 * leaseTime; passed += leaseTime / 3) {
      const reply = await north.beat(lease, 'started');
      if (reply.held) given.push(reply.lease_ms);
      await farm.time.pass(leaseTime / 3);
      await farm.queue.sweep();
    }
    expect(Math.min(...given)).toBeLessThan(leaseTime / 2);
    expect(await farm.job(id)).toMatchObject({ state: 'dead', epoch: 1, note: 'past its deadline' });
  });

  it('D6 with no life of the session for fifty minutes loses the lease', async () => {
    const id = await farm.submit({ kind: 'turn', scope: 't_1' });
    const lease = await north.claimOne();
    const step = leaseTime / 2;
    let idle = 0;
    await north.beat(lease, 'started');
    for (; idle < limits.sweepSilenceMs - step; idle += step) {
      await farm.time.pass(step);
      await north.beat(lease, 'started', { idle_ms: idle + step });
    }
    expect(await farm.queue.sweep()).toMatchObject({ requeued: [] });
    await farm.time.pass(step);
    expect(await farm.queue.sweep()).toMatchObject({ requeued: [id] });
    expect(kind.told).toEqual(['started 1', 'lost silent 1']);
  });
});

const lockJob = statement<unknown>('test.lock_job', `select from job where id = $id for update`);

/** Until so many statements wait for a lock. */
async function waitForLockWaiters(count: number): Promise<void> {
  for (let n = 0; n < 2000; n += 1) {
    const [row] = await farm.sql<{ n: number }>(
      `select count(*) as n from pg_locks l join pg_stat_activity a using (pid)
       where not l.granted and a.datname = current_database()`,
    );
    if ((row?.n ?? 0) >= count) return;
  }
  throw new Error('nobody waited for the lock');
}
