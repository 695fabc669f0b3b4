import { afterAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { limits } from '#contracts';
import { tickFarmClock } from '#store';
import { aQueueFarm, leaseTime, type QueueFarm, type TestWorker, withCode } from '../../../test/support/queue.js';
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

describe('a sweep', () => {
  it('A12.13 makes the job of a lost worker claimable at its lease’s end, and not before', async () => {
    const id = await farm.submit();
    const lease = await north.claimOne();
    await north.beat(lease, 'started');
    await farm.time.pass(leaseTime - 1);
    expect(await farm.queue.sweep()).toMatchObject({ requeued: [], ended: [] });
    await farm.time.pass(1);
    farm.rings.length = 0;
    expect(await farm.queue.sweep()).toMatchObject({ requeued: [id] });
    expect(farm.rings).toMatchObject([{ id, kind: 'plain', pool: 'default', after_ms: 0 }]);
    expect(await farm.worker('south').claimOne()).toMatchObject({ id, epoch: 2 });
    expect(await farm.job(id)).toMatchObject({ tries: 1 });
  });

  it('A12.13 needs no leader: ten at once lose each lease once', async () => {
    const ids = await farm.submitMany(20);
    for (const lease of await north.claim(16)) await north.beat(lease);
    await farm.submitMany(5, { kind: 'turn', scope: 't_1' });
    for (const lease of await north.claim(9)) await north.beat(lease);
    await farm.time.pass(leaseTime);
    const swept = await Promise.all(Array.from({ length: 10 }, () => farm.queue.sweep()));
    const requeued = swept.flatMap((each) => each.requeued);
    expect(requeued).toHaveLength(25);
    expect(new Set(requeued).size).toBe(25);
    expect(swept.flatMap((each) => each.failed)).toEqual([]);
    for (const id of ids) expect(await farm.job(id)).toMatchObject({ tries: 1, state: 'queued' });
    expect(kind.told).toHaveLength(5);
  });

  it('A12.14 P8 buries a job whose leases are lost five times, with its history; a person may dig it out', async () => {
    const id = await farm.submit();
    for (let n = 0; n < limits.tries; n += 1) {
      await north.beat(await north.claimOne(), 'started');
      await farm.time.pass(leaseTime);
      await farm.queue.sweep();
    }
    expect(await farm.job(id)).toMatchObject({ state: 'dead', tries: limits.tries });
    expect(await north.claim()).toEqual([]);
    const { jobs } = await farm.queue.list(farm.database, { state: 'dead', limit: 10 });
    expect(jobs).toMatchObject([{ id, note: 'lease lost; 5 tries' }]);
    expect(jobs[0]?.leases.map((lease) => [lease.epoch, lease.worker, lease.ended_how])).toEqual(
      [1, 2, 3, 4, 5].map((epoch) => [epoch, 'north', 'lost']),
    );
    expect(await farm.tx((tx) => farm.queue.redrive(tx, id))).toBe('queued');
    const again = await north.claimOne();
    expect(again).toMatchObject({ id, epoch: 6 });
    expect(await farm.job(id)).toMatchObject({ tries: 0 });
    await expect(farm.tx((tx) => farm.queue.redrive(tx, id))).rejects.toMatchObject(withCode('not_resumable'));
  });

  it('A12.14 ends a job that fails five times dead, and one that may not be repeated at once', async () => {
    const id = await farm.submit();
    for (let n = 1; n < limits.tries; n += 1) {
      expect(await north.fail(await north.claimOne(), 'job_error')).toEqual({ state: 'queued' });
      await farm.time.pass(30_000);
    }
    expect(await north.fail(await north.claimOne(), 'job_error', true, 'again')).toEqual({ state: 'dead' });
    expect(await farm.job(id)).toMatchObject({ tries: limits.tries, note: 'job_error: again; 5 tries' });
    await farm.submit();
    expect(await north.fail(await north.claimOne(), 'job_error', false)).toEqual({ state: 'dead' });
    expect(await north.claim()).toEqual([]);
  });

  it('D6 ends what waits past its deadline: dead, or as its kind says', async () => {
    const plain = await farm.submit({ deadline_ms: 60_000 });
    const turn = await farm.submit({ kind: 'turn', scope: 't_1', deadline_ms: 60_000, held: true });
    const patient = await farm.submit({ deadline_ms: 60_001 });
    kind.says.deadline = { next: 'done', note: 'timed out' };
    await farm.time.pass(60_000);
    expect([...(await farm.queue.sweep()).ended].sort()).toEqual([plain, turn].sort());
    expect(await farm.job(plain)).toMatchObject({ state: 'dead' });
    expect(await farm.job(turn)).toMatchObject({ state: 'done', note: 'timed out' });
    expect(await farm.job(patient)).toMatchObject({ state: 'queued' });
  });

  it('puts back a class that was dropped while a job of it came', async () => {
    await farm.submit({ labels: ['a'] });
    await farm.sql('delete from job_class');
    const worker = farm.worker('north', { labels: ['a'] });
    expect(await worker.claim()).toEqual([]);
    await farm.queue.sweep();
    expect(await worker.claim()).toHaveLength(1);
  });

  it('drops classes that nothing waits in, after an hour', async () => {
    await farm.submit({ labels: ['a'] });
    await farm.submit({ labels: ['b'] });
    await farm.worker('north', { labels: ['a'] }).claimOne();
    await farm.sql(`update job_class set made_at = made_at - interval '61 min'`);
    await farm.queue.sweep();
    expect(await farm.sql('select labels from job_class')).toEqual([{ labels: ['b'] }]);
  });
});

describe('farm time', () => {
  it('H3 D26 stands still while no controller ticks: no lease is lost, however long', async () => {
    await farm.submit();
    const lease = await north.claimOne();
    // As after an outage of two hours: the last tick is long ago.
    await farm.sql(`update farm_clock set ticked_at = ticked_at - interval '2 h'`);
    expect(await farm.queue.sweep()).toMatchObject({ requeued: [], ended: [] });
    // The first tick after it moves time by three seconds, not by two hours.
    await tickFarmClock(farm.database);
    expect(await farm.queue.sweep()).toMatchObject({ requeued: [], ended: [] });
    expect(await north.beat(lease, 'started')).toMatchObject({ held: true });
    expect(await north.complete(lease)).toMatchObject({ state: 'done' });
  });

  it('A12.4 P7 is the database’s: a process whose clock is an hour off, either way, changes nothing', async () => {
    const here = Date.now();
    for (const off of [3_600_000, -3_600_000]) {
      const clock = jest.spyOn(Date, 'now').mockImplementation(() => here + off);
      try {
        const id = await farm.submit();
        const lease = await north.claimOne();
        expect(await north.beat(lease, 'started')).toMatchObject({ held: true, lease_ms: leaseTime });
        expect(await farm.queue.sweep()).toMatchObject({ requeued: [], ended: [] });
        await farm.time.pass(leaseTime);
        expect(await north.beat(lease, 'started')).toMatchObject({ held: false });
        expect(await farm.queue.sweep()).toMatchObject({ requeued: [id] });
        await north.complete(await north.claimOne());
      } finally {
        clock.mockRestore();
      }
    }
  });
});
