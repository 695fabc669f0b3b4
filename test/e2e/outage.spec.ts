import { setTimeout as after } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Farm } from '../support/farm.js';
import { waitUntil } from '../support/wait-until.js';

/** Works in small steps for as long as the file `go` is missing, which the test's second command makes. */
const longWork = (seconds: number) => `
steps:
  - write: { path: before.txt, content: "before" }
  - call: { operation: set_work_plan, input: { steps: [{ step: "Wait for the farm", status: in_progress }] } }
  - wait: { seconds: ${seconds} }
  - write: { path: after.txt, content: "after" }
  - call: { operation: checkpoint, input: { summary: "It went on.", outcome: green } }
`;

describe('all controllers gone', () => {
  let farm: Farm;
  beforeAll(async () => {
    farm = await Farm.start({ workers: ['north', 'south'], slots: 4, controllers: 2 });
  });
  afterAll(() => farm.stop());

  it('H3 P1 for two minutes: every session goes on at the same epoch and every job ends exactly once in the record', async () => {
    const tasks = await Promise.all([1, 2, 3].map(() => farm.startTask(longWork(20))));
    const queued = await farm.startTask(longWork(1), { labels: ['os:none-such'] });
    await waitUntil(
      async () => (await Promise.all(tasks.map((task) => farm.jobs(task)))).every(([job]) => job?.phase === 'started'),
      {
        within: 30_000,
        what: 'all three to start',
      },
    );

    await farm.killControllers();
    // The outage itself: there is no event to wait for, time must pass.
    await after(120_000);
    await farm.startControllers();

    for (const task of tasks) {
      expect((await farm.until(task)).result).toMatchObject({ outcome: 'green', summary: 'It went on.' });
      const jobs = await farm.jobs(task);
      expect(jobs.map(({ state, epoch }) => ({ state, epoch }))).toEqual([{ state: 'done', epoch: 1 }]);
      const ends = (await farm.events(task)).filter((event) => event.type === 'boundary_accepted');
      expect(ends).toHaveLength(1);
    }
    expect((await farm.jobs(queued))[0]).toMatchObject({ state: 'queued', epoch: 0 });
    await farm.control(queued, 'cancel');
  });
});
