import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { taskControl } from '#contracts';
import { Farm } from '../support/farm.js';
import { processesMarked, stateOf } from '../support/processes-of.js';
import { waitUntil } from '../support/wait-until.js';

let farm: Farm;
beforeAll(async () => {
  farm = await Farm.start({ workers: ['north'], slots: 4 });
});
afterAll(() => farm.stop());

const hangs = `
steps:
  - write: { path: work.txt, content: "some work" }
  - say: hanging
  - grandchild: true
  - hang: { deaf: true }
`;

async function started(task: string): Promise<string> {
  const job = await waitUntil(async () => (await farm.jobs(task)).find((found) => found.phase === 'started'), {
    within: 120_000,
    what: 'the job to start',
  });
  return job.id;
}

describe('cancelling a Task', () => {
  it('W17 ends a queued job at once', async () => {
    const task = await farm.startTask(hangs, { labels: ['no:machine'] });
    await farm.until(task, ['running']);
    await farm.control(task, 'cancel');
    expect(await farm.task(task)).toMatchObject({ status: 'cancelled', result: null });
    expect((await farm.jobs(task))[0]).toMatchObject({ state: 'cancelled', epoch: 0 });
  });

  it('W17 P4 P3 ends a running session by its beat, leaves no process, and keeps the work without merging it', async () => {
    const task = await farm.startTask(hangs);
    const job = await started(task);
    await farm.control(task, 'cancel');
    await waitUntil(async () => (await farm.jobs(task))[0]?.state === 'cancelled', {
      within: 120_000,
      what: 'the job to end',
    });
    expect(processesMarked(`LONGSHORE_JOB=${job}`).filter((pid) => stateOf(pid) !== 'Z')).toEqual([]);
    const view = await farm.task(task);
    expect(view).toMatchObject({ status: 'cancelled', result: null });
    expect(view.rescues).toHaveLength(1);
  });

  it('is refused with a stale action id and changes nothing', async () => {
    const task = await farm.startTask(hangs, { labels: ['no:machine'] });
    const stale = (await farm.until(task, ['running'])).actions.find((action) => action.kind === 'cancel');
    await farm.control(task, 'cancel');
    await expect(
      farm.client.call(taskControl, { task_id: task, action_id: stale?.id ?? '' }, { confirm: true }),
    ).rejects.toMatchObject({ problem: { code: 'conflict' } });
  });
});
