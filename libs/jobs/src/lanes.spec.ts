import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type LeasedJob, limits } from '#contracts';
import type { Transaction } from '#store';
import { aQueueFarm, leaseTime, type QueueFarm, type TestWorker } from '../../../test/support/queue.js';
import { aTestKind, lockTestScope, type TestKind } from '../../../test/support/test-kind.js';
import type { NewJob } from './job.js';

const lanes = limits.lanesPerTask;
const farms: QueueFarm[] = [];
let farm: QueueFarm;
let kind: TestKind;
let north: TestWorker;
beforeEach(async () => {
  kind = aTestKind();
  farm = await aQueueFarm({ kinds: [{ ...kind, lanes }, aTestKind('command')] });
  farms.push(farm);
  north = farm.worker('north');
});
afterAll(() => Promise.all(farms.map((each) => each.close())));

/** Under the lock of the scope, as a Task does. */
const inScope = (act: (tx: Transaction) => Promise<unknown>, scope = 't_1') =>
  farm.tx(async (tx) => {
    await tx.run(lockTestScope, { scope });
    await act(tx);
  });
async function turns(count: number, more: Partial<NewJob> = {}): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  const scope = more.scope ?? 't_1';
  await inScope(async (tx) => {
    for (const id of ids) await farm.queue.submit(tx, { id, kind: 'turn', scope, ...more });
  }, scope);
  return ids;
}

/** All that can be had, in as many claims as it takes. */
async function claimAll(worker = north): Promise<readonly LeasedJob[]> {
  const all: LeasedJob[] = [];
  for (let some = await worker.claim(limits.claimBatch); some.length > 0; some = await worker.claim(limits.claimBatch))
    all.push(...some);
  return all;
}
const ids = (jobs: readonly { readonly id: string }[]) => jobs.map(({ id }) => id);
const awaiting = async () => ids(await farm.sql<{ id: string }>('select id from job where awaits_lane order by seq'));
const atWork = async () => (await farm.queue.counts(farm.database)).leased;
const end = (lease: LeasedJob | undefined) => {
  if (!lease) throw new Error('there is no such lease');
  return north.complete(lease, null, 'silent');
};

describe('the lanes of a scope', () => {
  it('are had all at once; one job more is queued, says what it waits for, and goes on when a lane is free', async () => {
    const all = await turns(lanes + 1);
    const leases = await claimAll();
    expect(ids(leases)).toEqual(all.slice(0, lanes));
    const last = all.at(-1) ?? '';
    expect(await farm.job(last)).toMatchObject({ state: 'queued', note: 'waiting: lanes' });
    expect(await north.claimTogether()).toEqual([]);
    farm.rings.length = 0;
    await end(leases[7]);
    expect(ids(farm.rings)).toEqual([last]);
    expect(await farm.job(last)).toMatchObject({ state: 'queued', note: null });
    expect(ids(await claimAll())).toEqual([last]);
    expect(await atWork()).toBe(lanes);
  });

  it('are enough for as many jobs as there are lanes', async () => {
    const all = await turns(lanes);
    expect(await awaiting()).toEqual([]);
    expect(ids(await claimAll())).toEqual(all);
  });

  it('are never more, however many machines claim and however many jobs come and end at once', async () => {
    await turns(2 * lanes);
    const machines = Array.from({ length: 8 }, (_, n) => farm.worker(`w_${n}`));
    const done = new Set<string>();
    let most = 0;
    const work = async (machine: TestWorker) => {
      for (;;) {
        const leases = await machine.claim(7);
        if (leases.length === 0) return;
        most = Math.max(most, await atWork());
        for (const lease of leases) {
          await machine.complete(lease, null, 'silent');
          done.add(lease.id);
        }
      }
    };
    const more = Promise.all([turns(lanes), turns(lanes)]);
    for (let round = 0; done.size < 4 * lanes && round < 100; round += 1) await Promise.all(machines.map(work));
    await more;
    for (let round = 0; done.size < 4 * lanes && round < 100; round += 1) await Promise.all(machines.map(work));
    expect(done.size).toBe(4 * lanes);
    expect(most).toBeLessThanOrEqual(lanes);
    expect(await awaiting()).toEqual([]);
  });

  it('are of one scope and one kind: others are had beside them', async () => {
    await turns(lanes + 3);
    const theirs = await turns(2, { scope: 't_2' });
    const commands = await farm.submitMany(2, { kind: 'command', scope: 't_1' });
    const plain = await farm.submitMany(2);
    const got = ids(await claimAll());
    expect(got).toHaveLength(lanes + 6);
    expect(got).toEqual(expect.arrayContaining([...theirs, ...commands, ...plain]));
  });

  it('go to who has waited longest, and nobody who comes later is before them', async () => {
    const all = await turns(lanes + 2);
    const [first, second] = await claimAll();
    await end(first);
    const [late = ''] = await turns(1);
    expect(await awaiting()).toEqual([all.at(-1), late]);
    await end(second);
    expect(await awaiting()).toEqual([late]);
  });

  it('are kept by a job that is queued again', async () => {
    const all = await turns(lanes + 2);
    const [first, second, third] = await claimAll();
    if (!first || !second || !third) throw new Error('there are no leases');
    await farm.tx((tx) => farm.queue.requeue(tx, first.id));
    await north.fail(second, 'environment');
    await north.beat(third, 'started');
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    expect(await awaiting()).toEqual(all.slice(lanes));
    expect(ids(await claimAll(farm.worker('south'))).sort()).toEqual([...all.slice(0, lanes)].sort());
  });

  const last = (jobs: readonly string[]) => jobs.at(-1) ?? '';
  const ways: readonly [string, (lease: LeasedJob) => Promise<unknown>][] = [
    ['is completed', (lease) => end(lease)],
    ['fails for good', (lease) => north.fail(lease, 'capture_failed', false)],
    ['is closed', (lease) => farm.tx((tx) => farm.queue.close(tx, lease.id, 'cancelled'))],
    [
      'is lost for good',
      async (lease) => {
        kind.says.lost = { next: 'done' };
        await north.beat(lease, 'started');
        await farm.time.pass(leaseTime);
        await farm.queue.sweep();
      },
    ],
    [
      'was told to end and does',
      async (lease) => {
        await farm.tx((tx) => farm.queue.endJob(tx, lease.id, 'enough'));
        await end(lease);
      },
    ],
  ];
  it.each(ways)('are free when a job of them %s', async (_, ends) => {
    const all = await turns(lanes + 1);
    const [first] = await claimAll();
    if (!first) throw new Error('there is no lease');
    await ends(first);
    expect(await awaiting()).toEqual([]);
    expect(await farm.job(last(all))).toMatchObject({ state: 'queued' });
  });

  it('are not jumped by a job that is put back by hand while it waits, nor by one that is given another life', async () => {
    kind.says.fail = { next: 'dead' };
    const all = await turns(lanes + 2);
    const [first] = await claimAll();
    if (!first) throw new Error('there is no lease');
    await farm.tx((tx) => farm.queue.requeue(tx, last(all)));
    expect(await awaiting()).toEqual(all.slice(lanes));
    await north.fail(first, 'capture_failed', false);
    await farm.tx((tx) => farm.queue.redrive(tx, first.id));
    expect(await awaiting()).toEqual([first.id, last(all)]);
    expect(await farm.job(first.id)).toMatchObject({ state: 'queued', note: 'waiting: lanes' });
  });

  it('are given anew when a scope goes on after a pause', async () => {
    const all = await turns(lanes + 2);
    const [first, second] = await claimAll();
    await inScope((tx) => farm.queue.hold(tx, 't_1'));
    expect(await awaiting()).toEqual([]);
    await end(first);
    const [late = ''] = await turns(1, { held: true });
    expect(await awaiting()).toEqual([]);
    await inScope((tx) => farm.queue.release(tx, 't_1'));
    expect(await awaiting()).toEqual([last(all), late]);
    await end(second);
    expect(await awaiting()).toEqual([late]);
    expect(ids(await claimAll())).toEqual(all.slice(lanes));
  });

  it('leave nothing behind when a scope is cancelled', async () => {
    await turns(lanes + 2);
    await claimAll();
    await inScope((tx) => farm.queue.endQueued(tx, 't_1'));
    expect(await awaiting()).toEqual([]);
    expect(await farm.queue.counts(farm.database)).toMatchObject({ queued: 0, leased: lanes });
  });

  it('go on by a sweep where one was free and nobody was told', async () => {
    const all = await turns(lanes + 1);
    await farm.sql(`update job set state = 'done' where id = '${all[0]}'`);
    farm.rings.length = 0;
    await farm.queue.sweep();
    expect(await awaiting()).toEqual([]);
    expect(ids(farm.rings)).toEqual([last(all)]);
  });

  it('are not kept by what no machine takes while something else waits', async () => {
    const stuck = await turns(lanes, { labels: ['gpu'] });
    const [able = ''] = await turns(1);
    const [same = ''] = await turns(1, { labels: ['gpu'] });
    await farm.queue.sweep();
    expect(await awaiting()).toEqual([able, same]);
    await farm.time.pass(limits.laneUnusedMs);
    await farm.queue.sweep();
    expect(ids(await claimAll())).toEqual([able]);
    // Nothing else waits any more: those that stay have their lanes, for the machine that may come.
    await farm.time.pass(limits.laneUnusedMs);
    await farm.queue.sweep();
    expect(await awaiting()).toHaveLength(stuck.length + 2 - lanes);
  });

  it('are kept for as long by a job that has waited for its lane before', async () => {
    await turns(lanes);
    const [waited = ''] = await turns(1, { labels: ['gpu'] });
    const [other = ''] = await turns(1);
    await farm.time.pass(limits.laneUnusedMs);
    const [first] = await claimAll();
    await end(first);
    await farm.queue.sweep();
    expect(await awaiting()).toEqual([other]);
    expect(ids(await farm.worker('south', { labels: ['gpu'] }).claim(1))).toEqual([waited]);
  });

  it('are not kept by what its only machine gave back while something else waits', async () => {
    const gpu = farm.worker('gpu', { labels: ['gpu'] });
    await turns(lanes, { labels: ['gpu'] });
    for (const lease of await claimAll(gpu)) await gpu.fail(lease, 'environment');
    const [able = ''] = await turns(1);
    await farm.time.pass(limits.laneUnusedMs);
    await farm.queue.sweep();
    expect(ids(await claimAll())).toEqual([able]);
  });

  it('are not kept by what may not run yet', async () => {
    const limited = await turns(1, { delay_ms: 60_000, account: 'work' });
    await turns(lanes - 1);
    await claimAll();
    const [next = ''] = await turns(1);
    await farm.queue.sweep();
    expect(await awaiting()).toEqual(limited);
    expect(ids(await claimAll())).toEqual([next]);
  });
});
