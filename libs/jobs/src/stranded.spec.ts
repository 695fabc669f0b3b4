import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aQueueFarm, type QueueFarm } from '../../../test/support/queue.js';

let farm: QueueFarm;
beforeAll(async () => {
  farm = await aQueueFarm();
});
afterAll(() => farm.close());

it('names what is missing for a job that no live machine may take', async () => {
  const machine = (worker: string, labels: readonly string[], accounts: readonly string[] = []) => ({
    worker,
    pool: 'default',
    labels,
    accounts,
  });
  const live = [machine('north', ['os:linux', 'gpu']), machine('south', ['os:linux'], ['work'])];
  await farm.submit({ labels: ['os:linux'] });
  const mac = await farm.submit({ labels: ['os:mac', 'gpu'], scope: 't_1' });
  const pool = await farm.submit({ pool: 'payroll' });
  const account = await farm.submit({ account: 'other' });
  const excluded = await farm.submit({ labels: ['gpu'] });
  const north = farm.worker('north', { labels: ['gpu'] });
  await north.fail(await north.claimOne(), 'environment');
  const stranded = await farm.queue.waitingWithoutMachine(farm.database, live);
  expect(stranded).toEqual([
    { job: mac, kind: 'plain', scope: 't_1', missing: ['label os:mac'] },
    { job: pool, kind: 'plain', scope: null, missing: ['pool payroll'] },
    { job: account, kind: 'plain', scope: null, missing: ['account other'] },
    {
      job: excluded,
      kind: 'plain',
      scope: null,
      missing: ['a machine on which it has not failed yet (last: environment)'],
    },
  ]);
  expect(await farm.queue.waitingWithoutMachine(farm.database, [])).toHaveLength(5);
  // A person who puts it back says that the machine is well again.
  await farm.tx((tx) => farm.queue.requeue(tx, excluded));
  expect(await north.claimOne()).toMatchObject({ id: excluded });
});
