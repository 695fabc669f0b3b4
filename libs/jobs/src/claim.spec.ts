import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { limits } from '#contracts';
import { aQueueFarm, leaseTime, type QueueFarm } from '../../../test/support/queue.js';

const farms: QueueFarm[] = [];
let farm: QueueFarm;
beforeEach(async () => {
  farm = await aQueueFarm();
  farms.push(farm);
});
afterAll(() => Promise.all(farms.map((each) => each.close())));

describe('a claim', () => {
  it('A12.1 gives a job to one of a hundred that ask at once', async () => {
    const id = await farm.submit();
    const workers = Array.from({ length: 100 }, (_, n) => farm.worker(`w${n}`));
    const leases = await Promise.all(workers.map((worker) => worker.claim()));
    expect(leases.filter((each) => each.length === 0)).toHaveLength(99);
    expect(leases.flat()).toMatchObject([{ id, epoch: 1 }]);
  });

  it('A12.1 gives no job twice to sixteen claimers at once, and leaves none', async () => {
    const ids = await farm.submitMany(320);
    const workers = Array.from({ length: 16 }, (_, n) => farm.worker(`w${n}`));
    const claimAll = async (worker: (typeof workers)[number]) => {
      const mine: string[] = [];
      for (let round = 0; round < 60; round += 1) {
        const got = await worker.claim(1 + (round % 3));
        if (got.length === 0) return mine;
        mine.push(...got.map((lease) => `${lease.id}:${lease.epoch}`));
      }
      return mine;
    };
    const all = (await Promise.all(workers.map(claimAll))).flat();
    expect(new Set(all).size).toBe(all.length);
    expect([...all].sort()).toEqual(ids.map((id) => `${id}:1`).sort());
  });

  it('A12.10 D12 repeated after a lost reply answers the same leases with fresh tokens', async () => {
    const worker = farm.worker('north');
    await farm.submitMany(5);
    const request_id = randomUUID();
    const first = await worker.claim(2, { request_id });
    const again = await worker.claim(16, { request_id });
    const plain = (leases: typeof first) => leases.map(({ id, epoch, lease_id }) => ({ id, epoch, lease_id }));
    expect(plain(again)).toEqual(plain(first));
    expect(again.map((lease) => lease.token)).not.toEqual(first.map((lease) => lease.token));
    expect((await farm.queue.counts(farm.database)).leased).toBe(2);
    // Another boot or machine with the same id asks for itself.
    expect(plain(await worker.rebooted().claim(1, { request_id }))).not.toEqual(plain(first));
    expect((await farm.queue.counts(farm.database)).leased).toBe(3);
  });

  it('H7 D12 leases once for ten equal requests at the same moment', async () => {
    const worker = farm.worker('north');
    for (let round = 0; round < 10; round += 1) {
      await farm.submitMany(4);
      const request_id = randomUUID();
      const limit = [1, 2, 4][round % 3] ?? 1;
      const answers = await Promise.all(Array.from({ length: 10 }, () => worker.claim(limit, { request_id })));
      const epochs = new Set(answers.flat().map((lease) => `${lease.id}:${lease.lease_id}`));
      expect(epochs.size).toBe(limit);
      for (const answer of answers) expect(answer).toHaveLength(limit);
      const { leased } = await farm.queue.counts(farm.database);
      expect(leased).toBe(limit);
      for (const lease of answers[0] ?? []) await worker.complete(lease);
      for (const lease of await worker.claim(16)) await worker.complete(lease);
    }
  });

  it('H7 repeated with a larger limit while the first is on its way leases nothing more', async () => {
    const worker = farm.worker('north');
    await farm.submitMany(8);
    const request_id = randomUUID();
    const held = Promise.withResolvers<void>();
    const claimed = Promise.withResolvers<void>();
    const first = farm.tx(async (tx) => {
      const leases = await farm.queue.claim(tx, worker.claimer, { request_id, limit: 1 });
      claimed.resolve();
      await held.promise;
      return leases;
    });
    await claimed.promise;
    const second = worker.claim(4, { request_id });
    held.resolve();
    const [one] = await first;
    expect((await second).map((lease) => lease.lease_id)).toEqual([one?.lease_id]);
    expect((await farm.queue.counts(farm.database)).leased).toBe(1);
  });

  it('H7 gives a lease whose first beat never came back uncounted, as often as it happens', async () => {
    const worker = farm.worker('north');
    const id = await farm.submit();
    for (let round = 0; round < limits.tries + 2; round += 1) {
      await worker.claimOne();
      await farm.time.pass(leaseTime);
      expect(await farm.queue.sweep()).toMatchObject({ requeued: [id] });
    }
    expect(await farm.job(id)).toMatchObject({ state: 'queued', tries: 0, epoch: limits.tries + 2 });
  });

  it('H7 answers sixteen jobs of the largest payload in less than 128 KiB', async () => {
    const payload = { text: '\u20ac'.repeat((limits.payloadBytes - 11) / 3) };
    await farm.submitMany(limits.claimBatch, { payload });
    const jobs = await farm.worker('north').claim(limits.claimBatch);
    expect(jobs).toHaveLength(limits.claimBatch);
    // As a server would send it, each with a token of a kilobyte.
    const reply = JSON.stringify({ jobs: jobs.map((job) => ({ ...job, token: 'x'.repeat(1024) })) });
    expect(Buffer.byteLength(reply)).toBeLessThan(limits.claimReplyBytes);
    const larger = { text: `${payload.text}\u20ac\u20ac` };
    await expect(farm.submit({ payload: larger })).rejects.toMatchObject({ code: 'too_large' });
  });

  it('H26 gives nothing outside of a machine’s pool, labels and accounts: an empty queue', async () => {
    await farm.submit({ labels: ['host:payroll'] });
    await farm.submit({ pool: 'gpu' });
    await farm.submit({ account: 'work' });
    expect(await farm.worker('forger', { labels: ['os:linux'] }).claim(16)).toEqual([]);
    expect(await farm.worker('other', { pool: 'none' }).claim(16)).toEqual([]);
    // What the worker announces beyond its enrolment is not among its labels; those it dropped neither.
    expect(await farm.worker('fits', { labels: ['host:payroll', 'os:linux'] }).claim(16)).toHaveLength(1);
    expect(await farm.worker('gpu', { pool: 'gpu' }).claim(16)).toHaveLength(1);
    expect(await farm.worker('login', { accounts: ['home', 'work'] }).claim(16)).toHaveLength(1);
  });

  it('gives only the kinds that a claimer may take', async () => {
    await farm.submit({ kind: 'dispatch' });
    await farm.submit({ kind: 'review' });
    expect(await farm.worker('agent', { kinds: ['review'] }).claim(16)).toMatchObject([{ kind: 'review' }]);
    expect(await farm.worker('agent', { kinds: ['review'] }).claim(16)).toEqual([]);
  });

  it('A12.20 goes by priority, then by age', async () => {
    const low = await farm.submit({ priority: -1, fairness_key: 'a' });
    const [first, second] = await farm.submitMany(2, { fairness_key: 'b' });
    const high = await farm.submit({ priority: 7, fairness_key: 'c' });
    const worker = farm.worker('north');
    expect((await worker.claim(16)).map((lease) => lease.id)).toEqual([high, first, second, low]);
  });

  it('takes the first of all classes that fit, not all of one', async () => {
    const order: string[] = [];
    for (const [n, label] of ['a', 'b', 'a', 'c'].entries()) {
      order.push(await farm.submit({ labels: [label], fairness_key: `k${n}` }));
    }
    const worker = farm.worker('north', { labels: ['a', 'b', 'c'] });
    const claimed: string[] = [];
    for (let n = 0; n < 4; n += 1) claimed.push((await worker.claimOne()).id);
    expect(claimed).toEqual(order);
  });

  it('leaves a job alone for as long as it prefers another machine, and not longer', async () => {
    const id = await farm.submit({ prefer: { worker: 'warm', ms: limits.preferMs } });
    const cold = farm.worker('cold');
    expect(await cold.claim()).toEqual([]);
    await farm.time.pass(limits.preferMs);
    expect(await cold.claimOne()).toMatchObject({ id });
    await farm.submit({ prefer: { worker: 'warm', ms: limits.preferMs } });
    expect(await farm.worker('warm').claim()).toHaveLength(1);
  });

  it('waits for a job that may not be claimed yet', async () => {
    await farm.submit({ delay_ms: 5000 });
    const worker = farm.worker('north');
    expect(await worker.claim()).toEqual([]);
    await farm.time.pass(5000);
    expect(await worker.claim()).toHaveLength(1);
    expect(farm.rings).toMatchObject([{ after_ms: 5000 }]);
  });
});

describe('a job of a machine that was away', () => {
  it('D11 goes to it first, with the next epoch and the same session, also before any sweep', async () => {
    const [north, south] = [farm.worker('north'), farm.worker('south')];
    const id = await farm.submit();
    const lease = await north.claimOne();
    await north.beat(lease, 'started');
    await farm.submitMany(3, { priority: 9 });
    await farm.time.pass(leaseTime);
    const frozen = [{ job_id: id, lease_id: lease.lease_id }];
    // Neither the lease of another nor that of another boot.
    expect(await south.claim(1, { frozen })).toMatchObject([{ continues: false }]);
    expect(await north.rebooted().claim(1, { frozen })).toMatchObject([{ continues: false }]);
    const [first, second] = await north.claim(2, { frozen });
    expect(first).toMatchObject({ id, epoch: 2, continues: true });
    expect(second).toMatchObject({ continues: false });
    expect(await farm.job(id)).toMatchObject({ tries: 0 });
  });

  it('D11 P8 has its tries lowered only by a loss that raised them', async () => {
    const [north, south] = [farm.worker('north'), farm.worker('south')];
    const id = await farm.submit();
    await south.beat(await south.claimOne(), 'started');
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    const { lease_id } = await north.claimOne();
    // No beat of it ever came: the job went back for nothing.
    await farm.time.pass(leaseTime);
    expect(await north.claimOne({ frozen: [{ job_id: id, lease_id }] })).toMatchObject({ continues: true });
    expect(await farm.job(id)).toMatchObject({ tries: 1 });
  });

  it('D11 is not continued when another took it, or a person put it back', async () => {
    const [north, south] = [farm.worker('north'), farm.worker('south')];
    const id = await farm.submit();
    const lease = await north.claimOne();
    const frozen = [{ job_id: id, lease_id: lease.lease_id }];
    await north.beat(lease, 'started');
    await farm.tx((tx) => farm.queue.requeue(tx, id));
    expect(await north.claimOne({ frozen })).toMatchObject({ epoch: 2, continues: false });
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    expect(await south.claimOne()).toMatchObject({ id, epoch: 3 });
    expect(await north.claim(1, { frozen })).toEqual([]);
  });

  it('D11 goes back to it alone, where it gets nothing new', async () => {
    const north = farm.worker('north');
    const id = await farm.submit();
    const lease = await north.claimOne();
    await north.beat(lease, 'started');
    await farm.submitMany(3, { priority: 9 });
    await farm.time.pass(leaseTime);
    const frozen = [{ job_id: id, lease_id: lease.lease_id }];
    const claimed = await north.claim(4, { frozen, nothing_new: true });
    expect(claimed).toMatchObject([{ id, epoch: 2, continues: true }]);
    expect(await north.claim(4, { frozen, nothing_new: true })).toEqual([]);
  });
});

describe('limits', () => {
  const claimAtOnce = async (workers: number, limit: number) => {
    const asked = Array.from({ length: workers }, (_, n) => farm.worker(`w${n}`).claim(limit));
    return (await Promise.all(asked)).flat();
  };

  it.each([
    ['global', {}],
    ['limit:deploy', { limits: ['limit:deploy'] }],
    ['workflow:review', { limits: ['workflow:review'] }],
  ])('A12.20 let no more run at once than %s allows, asked by ten at a time', async (name, job) => {
    await farm.tx((tx) => farm.queue.setLimit(tx, name, 1));
    await farm.submitMany(6, job);
    const [one, ...more] = await claimAtOnce(10, 4);
    expect(more).toEqual([]);
    expect(await farm.worker('late').claim()).toEqual([]);
    const [holder] = await farm.sql<{ holder: string; boot: string }>(
      `select holder, boot from job where state = 'leased'`,
    );
    if (!one || !holder) throw new Error('nothing was claimed');
    await farm.worker(holder.holder, { boot: holder.boot }).complete(one);
    expect(await claimAtOnce(10, 4)).toHaveLength(1);
    await farm.tx((tx) => farm.queue.setLimit(tx, name, null));
    expect(await farm.worker('late').claim(16)).toHaveLength(4);
  });

  it('A12.20 holds a machine to its own limit, not the others', async () => {
    await farm.tx((tx) => farm.queue.setLimit(tx, 'worker:north', 2));
    await farm.submitMany(8);
    const north = farm.worker('north');
    expect(await north.claim(4)).toHaveLength(2);
    expect(await north.claim(4)).toEqual([]);
    expect(await farm.worker('south').claim(4)).toHaveLength(4);
  });

  it('A12.20 waits in the queue for an account’s limit, and lets others pass', async () => {
    await farm.tx((tx) => farm.queue.setLimit(tx, 'account:work', 1));
    await farm.submitMany(3, { account: 'work', priority: 5 });
    await farm.submitMany(2);
    const worker = farm.worker('north', { accounts: ['work'] });
    const claimed = await worker.claim(16);
    expect(claimed).toHaveLength(3);
    expect(await worker.claim(16)).toEqual([]);
  });

  it('answers a repeated request the same under a limit', async () => {
    await farm.tx((tx) => farm.queue.setLimit(tx, 'global', 3));
    await farm.submitMany(6);
    const worker = farm.worker('north');
    const request_id = randomUUID();
    const answers = await Promise.all(Array.from({ length: 6 }, () => worker.claim(2, { request_id })));
    expect(new Set(answers.flat().map((lease) => lease.lease_id)).size).toBe(2);
    for (const answer of answers) expect(answer).toHaveLength(2);
  });

  it('gives nothing of an account that is paused, farm-wide, until its pause is over', async () => {
    await farm.submitMany(2, { account: 'work' });
    await farm.submit();
    await farm.tx((tx) => farm.queue.pauseAccount(tx, 'work', 60_000, 'rate limit'));
    await farm.tx((tx) => farm.queue.pauseAccount(tx, 'work', 1_000, 'shorter'));
    const worker = farm.worker('north', { accounts: ['work'] });
    expect(await worker.claim(16)).toHaveLength(1);
    await farm.time.pass(30_000);
    expect(await worker.claim(16)).toEqual([]);
    await farm.time.pass(30_000);
    expect(await worker.claim(16)).toHaveLength(2);
  });
});

describe('a bad machine', () => {
  it('H11 spends no try of a job that it can not run, and does not get it again', async () => {
    const [broken, good] = [farm.worker('broken'), farm.worker('good')];
    const ids = await farm.submitMany(50);
    const done: string[] = [];
    for (let round = 0; round < 200 && done.length < ids.length; round += 1) {
      for (const lease of await broken.claim(2)) await broken.fail(lease, 'environment', true, 'cli_missing');
      for (const lease of await good.claim(1)) {
        await good.complete(lease);
        done.push(lease.id);
      }
    }
    expect([...done].sort()).toEqual([...ids].sort());
    const jobs = await farm.sql<{ tries: number; start_attempts: number }>(
      `select distinct tries, start_attempts from job`,
    );
    expect(jobs).toEqual([{ tries: 0, start_attempts: 0 }]);
    expect(await broken.claim(16)).toEqual([]);
  });
});
