import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Transaction } from '#store';
import { aQueueFarm, type QueueFarm, type TestWorker } from '../../../test/support/queue.js';
import type { Ring } from './job.js';

let takes: (tx: Transaction) => Promise<readonly string[]>;
let offered: Ring[];
const farms: QueueFarm[] = [];
let farm: QueueFarm;
beforeEach(async () => {
  offered = [];
  takes = async () => [];
  farm = await aQueueFarm({
    offer: (tx, job) => {
      offered.push(job);
      return takes(tx);
    },
  });
  farms.push(farm);
});
afterAll(() => Promise.all(farms.map((each) => each.close())));

/** What a claim does that is offered a job. */
async function claimIn(tx: Transaction, { claimer }: TestWorker, limit = 1): Promise<readonly string[] | undefined> {
  if (!(await farm.queue.mayClaimNow(tx, claimer))) return undefined;
  const requests = [{ request_id: randomUUID(), limit }];
  const [answers] = await farm.queue.claimTogether(tx, [{ claimer, requests }]);
  return answers?.[0]?.map(({ id }) => id);
}

describe('a job that is submitted', () => {
  it('is offered when all of its transaction is done, the first of several; what was taken is not rung', async () => {
    const north = farm.worker('north');
    takes = async (tx) => (await claimIn(tx, north, 2)) ?? [];
    const ids = await farm.submitMany(3);
    expect(offered.map(({ id }) => id)).toEqual(ids.slice(0, 1));
    expect(await farm.job(ids[1] ?? '')).toMatchObject({ state: 'leased', holder: 'north', epoch: 1 });
    expect(farm.rings.map(({ id }) => id)).toEqual(ids.slice(2));
  });

  it('is offered by each transaction, and not one that waits for its time or is held', async () => {
    await farm.submit({ delay_ms: 5000 });
    await farm.submit({ held: true });
    expect(offered).toEqual([]);
    const ids = [await farm.submit(), await farm.submit()];
    expect(offered.map(({ id }) => id)).toEqual(ids);
  });

  it('A12.20 leaves an older job to the claim that it is offered to, and is rung then', async () => {
    const older = await farm.submit();
    const north = farm.worker('north');
    takes = async (tx) => (await claimIn(tx, north)) ?? [];
    const id = await farm.submit();
    expect(await farm.job(older)).toMatchObject({ state: 'leased' });
    expect(await farm.job(id)).toMatchObject({ state: 'queued' });
    expect(farm.rings.at(-1)).toMatchObject({ id });
  });

  it('is not there, and nobody has it, when its transaction fails after all', async () => {
    const id = randomUUID();
    const north = farm.worker('north');
    takes = async (tx) => {
      expect(await claimIn(tx, north)).toEqual([id]);
      throw new Error('no commit');
    };
    await expect(farm.submit({ id })).rejects.toThrow('no commit');
    expect(await farm.queue.find(farm.database, id)).toBeUndefined();
    expect(farm.rings).toEqual([]);
    expect(await farm.queue.counts(farm.database)).toMatchObject({ leased: 0 });
  });
});

it('H12 H26 is claimed at once or not at all: while a claim of the machine is on its way, for other machines only', async () => {
  const ids = await farm.submitMany(3);
  const north = farm.worker('north', { slots: 1 });
  const south = farm.worker('south', { slots: 1 });
  await farm.tx(async (first) => {
    await farm.queue.claim(first, north.claimer, { request_id: randomUUID(), limit: 1 });
    await farm.tx(async (second) => {
      expect(await claimIn(second, north)).toBeUndefined();
      expect(await claimIn(second, south)).toEqual([ids[1]]);
    });
  });
  // Free again with the commit; and its one slot is counted.
  expect(await farm.tx((tx) => claimIn(tx, north))).toEqual([]);
});
