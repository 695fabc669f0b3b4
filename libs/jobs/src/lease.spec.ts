import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aQueueFarm, fenceOf, leaseTime, type QueueFarm, withCode } from '../../../test/support/queue.js';

let farm: QueueFarm;
beforeAll(async () => {
  farm = await aQueueFarm();
});
afterAll(() => farm.close());

const stale = withCode('stale_lease');

describe('a lease', () => {
  it('A12.2 has the next epoch each time, and no retry or requeue resets it', async () => {
    const worker = farm.worker('north');
    const id = await farm.submit();
    expect((await worker.claimOne()).epoch).toBe(1);
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    const second = await worker.claimOne();
    expect(second).toMatchObject({ id, epoch: 2 });
    await worker.fail(second, 'environment');
    const other = farm.worker('south');
    const third = await other.claimOne();
    expect(third).toMatchObject({ id, epoch: 3 });
    await farm.tx((tx) => farm.queue.requeue(tx, id));
    const fourth = await other.claimOne();
    expect(fourth.epoch).toBe(4);
    await other.complete(fourth);
  });

  it('A12.3 S5.1 H14 refuses all that a worker writes that slept past its lease', async () => {
    const [north, south] = [farm.worker('north'), farm.worker('south')];
    const id = await farm.submit();
    const asleep = await north.claimOne();
    await north.beat(asleep);
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    const taken = await south.claimOne();
    expect(taken).toMatchObject({ id, epoch: 2 });

    await expect(north.complete(asleep)).rejects.toMatchObject(stale);
    await expect(north.fail(asleep)).rejects.toMatchObject(stale);
    await expect(north.started(asleep)).rejects.toMatchObject(stale);
    expect(await north.beat(asleep)).toMatchObject({ held: false });
    // The right job, epoch and lease, the wrong holder.
    await expect(north.complete(taken)).rejects.toMatchObject(stale);
    expect(await north.beat(taken)).toMatchObject({ held: false });
    await expect(south.complete(taken)).resolves.toEqual({ state: 'done', kept: true });
  });

  it('H14 is not the lease of a copy: another boot of the same identity is refused', async () => {
    const worker = farm.worker('north');
    await farm.submit();
    const lease = await worker.claimOne();
    const copy = worker.rebooted();
    await expect(copy.complete(lease)).rejects.toMatchObject(stale);
    await expect(copy.fail(lease)).rejects.toMatchObject(stale);
    await expect(copy.started(lease)).rejects.toMatchObject(stale);
    expect(await copy.beat(lease)).toMatchObject({ held: false });
    await worker.complete(lease);
  });

  it('H14 is void in a database that was restored to before the claim', async () => {
    const [north, south] = [farm.worker('north'), farm.worker('south')];
    const id = await farm.submit();
    const before = await north.claimOne();
    await farm.sql(`update job set state = 'queued', epoch = 0, lease_id = null, holder = null, boot = null,
      lease_expires_at = null, phase = null where id = '${id}'`);
    await farm.sql(`update lease set epoch = 99 where job = '${id}'`);
    // The same worker and boot claims again and gets the same epoch: only the lease's own id tells the two apart.
    const after = await north.claimOne();
    expect(after).toMatchObject({ id, epoch: 1 });
    await expect(north.complete(before)).rejects.toMatchObject(stale);
    expect(await north.beat(before)).toMatchObject({ held: false });
    await expect(south.complete(after)).rejects.toMatchObject(stale);
    await north.complete(after);
  });

  it('A12.4 P7 ends by the clock of the database, also for a transaction that began before its end', async () => {
    const worker = farm.worker('north');
    await farm.submit();
    const lease = await worker.claimOne();
    const end = { ended: 'done', result: null } as const;
    const prepared = await farm.queue.prepareCompletion(worker.claimer, fenceOf(lease), end);
    const late = farm.tx(async (tx) => {
      await tx.all(nowInTransaction);
      await farm.time.pass(leaseTime);
      return farm.queue.complete(tx, worker.claimer, fenceOf(lease), end, prepared);
    });
    await expect(late).rejects.toMatchObject(stale);
    await farm.queue.sweep();
    await worker.complete(await worker.claimOne());
  });

  it('A12.6 D26 is not brought back by a beat after its end, though nobody has claimed or swept it', async () => {
    const worker = farm.worker('north');
    const id = await farm.submit();
    const lease = await worker.claimOne();
    await farm.time.pass(leaseTime);
    expect(await worker.beat(lease)).toEqual({ held: false, job_id: id, code: 'stale_lease' });
    expect(await farm.job(id)).toMatchObject({ state: 'leased', epoch: 1 });
    await farm.queue.sweep();
    await worker.complete(await worker.claimOne());
  });

  it('A12.7 gives an unknown job, another’s job and a wrong epoch the very same answer', async () => {
    const [north, south] = [farm.worker('north'), farm.worker('south')];
    await farm.submit();
    const lease = await south.claimOne();
    const variants = [
      { ...lease, id: randomUUID() },
      lease,
      { ...lease, epoch: lease.epoch + 1 },
      { ...lease, lease_id: randomUUID() },
    ];
    const shown = async (refused: Promise<unknown>) => {
      const error: { code?: string; detail?: string; hint?: string } = await refused.then(
        () => ({}),
        (thrown) => thrown,
      );
      return JSON.stringify([error.code, error.detail, error.hint]);
    };
    const answers = new Set<string>();
    for (const variant of variants) {
      answers.add(await shown(north.complete(variant)));
      answers.add(await shown(north.fail(variant)));
      answers.add(await shown(north.started(variant)));
      const { job_id, ...reply } = await north.beat(variant);
      expect(job_id).toBe(variant.id);
      expect(reply).toEqual({ held: false, code: 'stale_lease' });
    }
    expect([...answers]).toHaveLength(1);
    expect([...answers][0]).toContain('stale_lease');
    await south.complete(lease);
  });

  it('A12.8 D13 has one end, the first, and it stays', async () => {
    const [north, south] = [farm.worker('north'), farm.worker('south')];
    const id = await farm.submit();
    const lease = await north.claimOne();
    await north.complete(lease, { n: 1 });
    await expect(north.fail(lease)).rejects.toMatchObject(withCode('conflict'));
    await expect(north.complete(lease, { n: 2 })).rejects.toMatchObject(withCode('conflict'));
    await expect(south.complete(lease, { n: 1 })).rejects.toMatchObject(stale);
    await expect(farm.tx((tx) => farm.queue.requeue(tx, id))).rejects.toMatchObject(withCode('not_resumable'));
    await expect(farm.tx((tx) => farm.queue.cancel(tx, id))).rejects.toMatchObject(withCode('conflict'));
    await farm.tx((tx) => farm.queue.close(tx, id, 'dead'));
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    expect(await farm.job(id)).toMatchObject({ state: 'done', result: { n: 1 }, epoch: 1 });
  });

  it('A12.9 D13 answers the same end again the same, after a lost reply', async () => {
    const worker = farm.worker('north');
    await farm.submit();
    const lease = await worker.claimOne();
    const first = await worker.complete(lease, { a: 1, b: [{ c: 2, d: 3 }] });
    expect(await worker.complete(lease, { b: [{ d: 3, c: 2 }], a: 1 })).toEqual(first);

    const id = await farm.submit();
    const failed = await worker.claimOne();
    expect(await worker.fail(failed, 'job_error', true, 'no luck')).toEqual({ state: 'queued' });
    expect(await worker.fail(failed, 'job_error', true, 'no luck')).toEqual({ state: 'queued' });
    expect(await farm.job(id)).toMatchObject({ tries: 1 });
    await expect(worker.fail(failed, 'job_error', true, 'other')).rejects.toMatchObject(withCode('conflict'));
    await farm.time.pass(30_000);
    // Held by another lease by now: what the first was answered stands still.
    const again = await worker.claimOne();
    expect(await worker.fail(failed, 'job_error', true, 'no luck')).toEqual({ state: 'queued' });
    await worker.complete(again);
  });
});

const nowInTransaction = { name: 'test.now', text: 'select now()', parameters: [] };
