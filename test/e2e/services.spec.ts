import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Farm } from '../support/farm.js';
import { waitUntil } from '../support/wait-until.js';

/** A farm over a PostgreSQL of its own, which may be restarted under it. */
let farm: Farm;
beforeAll(async () => {
  farm = await Farm.start({ workers: ['north', 'south'], slots: 4, ownPostgres: true });
});
afterAll(() => farm.stop());

const work = (n: number) => `
steps:
  - write: { path: "file-${n}.txt", content: "${n}" }
  - wait: { seconds: ${n % 5} }
  - call: { operation: checkpoint, input: { summary: "Done ${n}.", outcome: green } }
`;

describe('PostgreSQL', () => {
  it('may be restarted under load: every Task ends once, green', async () => {
    const tasks: string[] = [];
    for (let n = 0; n < 12; n += 1) tasks.push(await farm.startTask(work(n)));
    // Whichever is at work now: on a busy machine the first ones are done before the last ones have begun.
    await waitUntil(
      async () => {
        const jobs = (await Promise.all(tasks.map((task) => farm.jobs(task)))).flat();
        return jobs.some(({ phase }) => phase === 'started');
      },
      { within: 120_000 },
    );
    await farm.restartPostgres();
    for (const task of tasks) {
      expect((await farm.until(task)).result?.outcome).toBe('green');
      expect((await farm.events(task)).filter((event) => event.type === 'boundary_accepted')).toHaveLength(1);
    }
  });
});
