import { setTimeout as after } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Farm } from '../support/farm.js';
import { waitUntil } from '../support/wait-until.js';

/** One session, which notes that it lived, waits for the file `go`, and hands over. */
const longWork = `
steps:
  - run: "echo lived >> lives.txt"
  - call: { operation: set_work_plan, input: { steps: [{ step: "Wait for the word", status: in_progress }] } }
  - wait: { file: go }
  - call: { operation: checkpoint, input: { summary: "It went on.", outcome: green } }
`;

const outageMs = 120_000;
jest.setTimeout(3 * outageMs + 240_000);

describe('all controllers gone', () => {
  let farm: Farm;
  beforeAll(async () => {
    // Farm time runs on for three seconds after the last tick: a lease must be longer than that, as in production.
    farm = await Farm.start({ workers: ['north', 'south'], slots: 2, controllers: 2, leaseMs: 15_000 });
  });
  afterAll(() => farm.stop());

  it('H3 P1 for two minutes, three times: the same sessions go on at the same epochs, and each job ends once in the record', async () => {
    const tasks = await Promise.all([1, 2, 3].map(() => farm.startTask(longWork)));
    const started = async () =>
      (await Promise.all(tasks.map((task) => farm.jobs(task)))).every(([job]) => job?.phase === 'started');
    await waitUntil(started, { within: 120_000, what: 'all three to start' });

    const expiries = async () =>
      (await farm.rows<{ lease_expires_at: Date }>('select lease_expires_at from job order by id')).map(
        (row) => row.lease_expires_at,
      );
    for (let outage = 0; outage < 3; outage += 1) {
      await farm.killControllers();
      const before = await expiries();
      // The outage itself: there is no event to wait for, time must pass.
      await after(outageMs);
      await farm.startControllers();
      await waitUntil(async () => (await expiries()).every((expiry, n) => expiry > (before[n] ?? expiry)), {
        within: 120_000,
        what: 'the three leases to be beaten again',
      });
    }

    for (const task of tasks) {
      const [job] = await farm.jobs(task);
      const holder = [...farm.workers.values()].find((worker) => worker.id === job?.worker_id);
      if (!job || !holder) throw new Error('nobody holds the job');
      await farm.letGo(holder, job.id);
      expect((await farm.until(task)).result).toMatchObject({ outcome: 'green', summary: 'It went on.' });
      expect(await farm.fileOf(task, 'lives.txt')).toBe('lived');
      expect((await farm.jobs(task)).map(({ state, epoch }) => ({ state, epoch }))).toEqual([
        { state: 'done', epoch: 1 },
      ]);
      expect((await farm.events(task)).filter((event) => event.type === 'boundary_accepted')).toHaveLength(1);
    }
    expect(await farm.rows(`select state from job where state <> 'done'`)).toEqual([]);
  });
});
