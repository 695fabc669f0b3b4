import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aQueueFarm, type QueueFarm } from '../../../test/support/queue.js';

let farm: QueueFarm;
beforeAll(async () => {
  farm = await aQueueFarm();
});
afterAll(() => farm.close());

it('shows jobs newest first, page by page, by state, scope and machine', async () => {
  const ids = await farm.submitMany(5, { scope: 't_1' });
  const other = await farm.submit();
  const first = await farm.queue.list(farm.database, { scope: 't_1', limit: 3 });
  expect(first.jobs.map((job) => job.id)).toEqual([ids[4], ids[3], ids[2]]);
  const cursor = first.next_cursor ?? '';
  const rest = await farm.queue.list(farm.database, { scope: 't_1', limit: 3, cursor });
  expect(rest.jobs.map((job) => job.id)).toEqual([ids[1], ids[0]]);
  expect(rest.next_cursor).toBeNull();
  const north = farm.worker('north');
  const lease = await north.claimOne();
  const leased = await farm.queue.list(farm.database, { worker: 'north', state: 'leased', limit: 10 });
  expect(leased.jobs).toMatchObject([{ id: lease.id, leases: [{ epoch: 1, worker: 'north', ended_how: null }] }]);
  expect(await farm.queue.counts(farm.database)).toEqual({ queued: 5, held: 0, leased: 1, dead: 0 });
  expect((await farm.queue.list(farm.database, { limit: 10, cursor: 'not one of ours' })).jobs[0]?.id).toBe(other);
  expect(await farm.queue.pastLease(farm.database, lease.id, 1)).toMatchObject({ worker: 'north' });
  expect(await farm.queue.heldLease(farm.database, north.claimer, { job_id: lease.id, ...lease })).toMatchObject({
    id: lease.id,
  });
  expect(
    await farm.queue.heldLease(farm.database, farm.worker('south').claimer, { job_id: lease.id, ...lease }),
  ).toBeUndefined();
});
