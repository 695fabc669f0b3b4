import { afterEach, describe, expect, it } from '@jest/globals';
import { Farm } from '../support/farm.js';
import { aLineTo, type Line } from '../support/line.js';
import { waitUntil } from '../support/wait-until.js';

let farm: Farm;
let line: Line | undefined;
afterEach(async () => {
  line?.mend();
  await farm.stop();
  line?.close();
});

/** Counts its own lives in a file outside of the capture's reach: one session writes one line. */
const session = `
steps:
  - run: "echo lived >> lives.txt"
  - wait: { file: go }
  - call: { operation: checkpoint, input: { summary: "One life.", outcome: green } }
`;

async function aFarmWithALine() {
  farm = await Farm.start();
  line = await aLineTo(farm.url);
  const north = await farm.join('north', { url: line.url });
  const task = await farm.startTask(session);
  const started = await north.event('started');
  return { line, north, task, job: started.job ?? '' };
}

const jobOf = async (task: string) => (await farm.jobs(task))[0];

describe('a worker that is cut off past its lease', () => {
  it('H3 D11 D18 freezes its session and goes on with it at the next epoch when nobody else has claimed it', async () => {
    const { line, north, task, job } = await aFarmWithALine();
    line.cut();
    await north.event('frozen', (event) => event.job === job);
    await waitUntil(async () => (await jobOf(task))?.state === 'queued', { within: 120_000, what: 'the lease to end' });

    line.mend();
    await north.event('thawed', (event) => event.job === job && event.epoch === 2);
    await farm.letGo(north, job);

    const view = await farm.until(task);
    expect(view.result).toMatchObject({ outcome: 'green', summary: 'One life.' });
    expect(await jobOf(task)).toMatchObject({ epoch: 2, state: 'done' });
    expect(await farm.fileOf(task, 'lives.txt')).toBe('lived');
    const [spent] = await farm.rows<{ recoveries: number }>('select recoveries from assignment where task = $1', [
      task,
    ]);
    expect(spent).toEqual({ recoveries: 0 });
  });

  it('H10 D20 ends its session and hands its work in as a rescue when another has claimed it', async () => {
    const { line, north, task, job } = await aFarmWithALine();
    line.cut();
    await north.event('frozen', (event) => event.job === job);
    const south = await farm.join('south');
    await south.event('started', (event) => event.job === job);

    line.mend();
    await north.event('rescued', (event) => event.job === job);
    await farm.letGo(south, job);

    const view = await farm.until(task);
    expect(view.result).toMatchObject({ outcome: 'green' });
    expect(await farm.fileOf(task, 'lives.txt')).toBe('lived');
    expect(view.rescues).toEqual([expect.objectContaining({ member_id: 'lead' })]);
    expect(view.rescues[0]?.commit).not.toBe(view.result?.commit);
  });
});
