import { afterAll, beforeEach, expect, it } from '@jest/globals';
import { aQueueFarm, type QueueFarm } from '../../../test/support/queue.js';

const farms: QueueFarm[] = [];
let farm: QueueFarm;
beforeEach(async () => {
  farm = await aQueueFarm();
  farms.push(farm);
});
afterAll(() => Promise.all(farms.map((each) => each.close())));

/** Serves so many jobs; answers how many each key got. */
async function serve(count: number, each = 1): Promise<Readonly<Record<string, number>>> {
  const worker = farm.worker('north', { labels: ['a', 'b'] });
  const served: Record<string, number> = {};
  for (let n = 0; n < count; n += each) {
    for (const lease of await worker.claim(each)) {
      const { fairness_key } = await farm.job(lease.id);
      served[fairness_key] = (served[fairness_key] ?? 0) + 1;
      await worker.complete(lease);
    }
  }
  return served;
}

function expectShare(served: number | undefined, of: number, total: number): void {
  expect(Math.abs((served ?? 0) - of)).toBeLessThanOrEqual(total * 0.1);
}

it('A12.20 shares the farm between keys within a tenth, however many jobs each has', async () => {
  await farm.submitMany(200, { fairness_key: 'greedy' });
  await farm.submitMany(40, { fairness_key: 'modest' });
  await farm.submitMany(40, { fairness_key: 'third' });
  const served = await serve(90);
  for (const key of ['greedy', 'modest', 'third']) expectShare(served[key], 30, 90);
});

it('A12.20 shares by weight, also across classes and in batches', async () => {
  await farm.submitMany(150, { fairness_key: 'heavy', weight: 3, labels: ['a'] });
  await farm.submitMany(150, { fairness_key: 'light', weight: 1, labels: ['b'] });
  const served = await serve(96, 8);
  expectShare(served.heavy, 72, 96);
  expectShare(served.light, 24, 96);
});

it('A12.20 lets a key that was idle neither starve the others nor be starved', async () => {
  await farm.submitMany(1, { fairness_key: 'idle' });
  await farm.submitMany(160, { fairness_key: 'busy' });
  await serve(61);
  // 'idle' had one job at the very start; what it did not use since is not saved up.
  await farm.submitMany(100, { fairness_key: 'idle' });
  const together = await serve(80);
  expectShare(together.idle, 40, 80);
  expectShare(together.busy, 40, 80);
});

it('A12.20 does not make a key pay for what it used while it was alone', async () => {
  await farm.submitMany(100, { fairness_key: 'alone' });
  await serve(100);
  await farm.submitMany(60, { fairness_key: 'new' });
  await farm.submitMany(60, { fairness_key: 'alone' });
  const served = await serve(60);
  expectShare(served.alone, 30, 60);
  expectShare(served.new, 30, 60);
});

it('keeps shares when rows that say nothing are tidied away', async () => {
  await farm.submitMany(40, { fairness_key: 'alone' });
  await serve(40);
  await farm.queue.sweep();
  const keys = await farm.sql(`select from quota where name like 'key:%'`);
  expect(keys.length).toBeLessThanOrEqual(1);
  await farm.submitMany(60, { fairness_key: 'new' });
  await farm.submitMany(60, { fairness_key: 'alone' });
  const served = await serve(60);
  expectShare(served.alone, 30, 60);
});
