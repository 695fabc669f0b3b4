import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { statement } from '#store';
import { aQueueFarm, fenceOf, leaseTime, type QueueFarm, type TestWorker } from '../../../test/support/queue.js';
import { waitUntil } from '../../../test/support/wait-until.js';

const farms: QueueFarm[] = [];
let farm: QueueFarm;
beforeEach(async () => {
  farm = await aQueueFarm();
  farms.push(farm);
});
afterAll(() => Promise.all(farms.map((each) => each.close())));

const request = (limit = 1, request_id: string = randomUUID()) => ({ request_id, limit });
async function claim({ claimer }: TestWorker, requests: readonly ReturnType<typeof request>[]) {
  const [answers = []] = await farm.tx((tx) => farm.queue.claimTogether(tx, [{ claimer, requests }]));
  return answers;
}
const lockMachine = statement<unknown>(
  'test.lock_machine',
  'select pg_advisory_xact_lock(hashtextextended($worker, 0))',
);
const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
const end = { ended: 'done', result: { ok: true } } as const;

describe('requests that share a statement', () => {
  it('A12.1 A12.20 get each job once, in the order of the queue', async () => {
    const ids = await farm.submitMany(8);
    const answers = await claim(farm.worker('north'), [request(1), request(4), request(2)]);
    expect(answers.map((jobs) => jobs?.length)).toEqual([1, 4, 2]);
    expect(answers.flatMap((jobs) => jobs?.map(({ id }) => id))).toEqual(ids.slice(0, 7));
  });

  it('A12.1 of sixteen groups at once get no job twice, and none is left', async () => {
    await farm.submitMany(64);
    const given: string[] = [];
    await Promise.all(
      Array.from({ length: 16 }, async (_, n) => {
        const north = farm.worker(`north-${n}`);
        for (let tries = 0; tries < 50 && given.length < 64; tries += 1) {
          const answers = await claim(north, [request(), request(2)]);
          given.push(...answers.flatMap((jobs) => jobs?.map(({ id }) => id) ?? []));
        }
      }),
    );
    expect(given).toHaveLength(64);
    expect(new Set(given).size).toBe(64);
  });

  it('D12 H7 are left alone when they were answered before, and when they come twice', async () => {
    await farm.submitMany(4);
    const north = farm.worker('north');
    const known = request();
    await claim(north, [known]);
    expect(await claim(north, [known, request()])).toEqual([undefined, undefined]);
    const twice = request();
    const answers = await claim(north, [twice, { ...twice }, request()]);
    expect(answers.map((jobs) => jobs?.length)).toEqual([1, undefined, 1]);
    expect((await farm.queue.counts(farm.database)).leased).toBe(3);
  });

  it('H7 that were answered between the count and the insert fail together, and lease nothing', async () => {
    await farm.submitMany(4);
    const known = request();
    const north = farm.worker('north');
    await claim(north, [known]);
    // As a snapshot from before the answer would have it: the look-up does not find what the unique number does.
    const blind = farm.rewritten((stated) => ({
      ...stated,
      text: stated.text.replace('and request_id = a.request_id', '$& and false'),
      name: `${stated.name}.blind`,
    }));
    const shared = blind.tx((tx) =>
      blind.queue.claimTogether(tx, [{ claimer: north.claimer, requests: [known, request()] }]),
    );
    await expect(shared).rejects.toMatchObject({ code: '23505' });
    expect((await farm.queue.counts(farm.database)).leased).toBe(1);
  });

  it('H26 get no more than the slots have room for beside what is held, however they come', async () => {
    await farm.submitMany(8);
    const north = farm.worker('north', { slots: 3 });
    await north.claim(1);
    const answers = await claim(north, [request(), request(2), request()]);
    expect(answers.map((jobs) => jobs?.length)).toEqual([1, 1, 0]);
    await Promise.all(Array.from({ length: 6 }, () => north.claim(2)));
    expect((await farm.queue.counts(farm.database)).leased).toBe(3);
  });

  it('H12 of several machines wait for each of them before they hold a job that another waits for', async () => {
    const id = await farm.submit();
    const north = farm.worker('north');
    const south = farm.worker('south');
    const { lease_id } = await south.claimOne();
    await farm.time.pass(leaseTime);
    await farm.queue.sweep();
    // The job is queued again when south, whose it was, asks for it at the same moment as a group in which north could have it.
    const shared = await farm.tx(async (tx) => {
      await tx.run(lockMachine, { worker: 'south' });
      const claims = [north, south].map(({ claimer }) => ({ claimer, requests: [request()] }));
      const group = farm.tx((of) => farm.queue.claimTogether(of, claims));
      await waitUntil(async () => (await farm.sql(waiting)).length > 0, { what: 'the group waits for south' });
      const frozen = [{ job_id: id, lease_id }];
      const own = await farm.queue.claim(tx, south.claimer, { request_id: randomUUID(), limit: 1, frozen });
      expect(own).toMatchObject([{ id, continues: true }]);
      return { group };
    });
    expect(await shared.group).toEqual([[[]], [[]]]);
  });

  it('A12.20 are left alone where a limit is set or classes take turns', async () => {
    const north = farm.worker('north', { labels: ['a', 'b'] });
    await farm.submit({ labels: ['a'] });
    await farm.submit({ labels: ['b'] });
    expect(await claim(north, [request(), request()])).toEqual([undefined, undefined]);
    await farm.tx((tx) => farm.queue.setLimit(tx, 'global', 1));
    expect(await claim(north, [request()])).toEqual([undefined]);
    expect((await farm.queue.counts(farm.database)).leased).toBe(0);
  });
});

describe('ends that share a statement', () => {
  it('A12.3 A12.7 are let through by their own fence each', async () => {
    await farm.submitMany(3);
    const north = farm.worker('north');
    const [good, wrongEpoch, notIts] = await north.claim(3);
    if (!good || !wrongEpoch || !notIts) throw new Error('there were too few jobs');
    const answers = await farm.tx((tx) =>
      farm.queue.completeTogether(tx, [
        { holder: farm.worker('south').claimer, fence: fenceOf(notIts), end },
        { holder: north.claimer, fence: { ...fenceOf(wrongEpoch), epoch: 2 }, end },
        { holder: north.claimer, fence: fenceOf(good), end },
      ]),
    );
    expect(answers).toEqual([undefined, undefined, { state: 'done', kept: true, beats: 0 }]);
    expect(await farm.job(good.id)).toMatchObject({ state: 'done', result: end.result });
    expect(await farm.job(wrongEpoch.id)).toMatchObject({ state: 'leased' });
  });

  it('A12.8 A12.9 have one end each, and the same answer again', async () => {
    await farm.submit();
    const north = farm.worker('north');
    const lease = await north.claimOne();
    const same = { holder: north.claimer, fence: fenceOf(lease), end };
    const other = { ...same, end: { ...end, result: 2 } };
    const answers = await farm.tx((tx) => farm.queue.completeTogether(tx, [same, other]));
    expect(answers).toEqual([{ state: 'done', kept: true, beats: 0 }, undefined]);
    expect(await north.complete(lease, end.result)).toEqual({ state: 'done', kept: true });
    await expect(north.complete(lease, 2)).rejects.toMatchObject({ code: 'conflict' });
  });
});
