import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Farm } from '../support/farm.js';
import { processesMarked, stateOf } from '../support/processes-of.js';
import { waitUntil } from '../support/wait-until.js';

let farm: Farm;
beforeAll(async () => {
  farm = await Farm.start({ workers: ['north', 'south'], slots: 2 });
});
afterAll(() => farm.stop());

/** The first lease works and hangs, the second finishes. */
const hangsAtFirst = `
steps:
  - write: { path: half.txt, content: "half done\\n" }
  - say: half done
  - when: { epoch: 1 }
    grandchild: true
  - when: { epoch: 1 }
    hang: true
  - write: { path: whole.txt, content: "done\\n" }
  - call: { operation: checkpoint, input: { summary: "All of it.", outcome: green } }
`;

describe('a machine that dies', () => {
  it('W10 P4 loses its job to another, which finishes at the next epoch; no agent of it survives and its work is kept', async () => {
    const task = await farm.startTask(hangsAtFirst);
    const holder = await holderOf(task);
    const dead = workerById(holder.worker_id);
    await dead.event('step', (event) => JSON.stringify(event).includes('half done'));
    expect(processesMarked(`LONGSHORE_JOB=${holder.id}`)).not.toHaveLength(0);

    dead.signal('SIGKILL');
    await dead.ended;
    await waitUntil(() => processesMarked(`LONGSHORE_JOB=${holder.id}`).length === 0, {
      within: 120_000,
      what: 'the dead worker to leave no agent',
    });

    const view = await farm.until(task);
    expect(view.result).toMatchObject({ outcome: 'green', summary: 'All of it.' });
    expect(view.result?.files_changed.map((file) => file.path).sort()).toEqual(['half.txt', 'whole.txt']);
    const [job] = await farm.jobs(task);
    expect(job).toMatchObject({ state: 'done', epoch: 2 });
    expect(job?.leases.map((lease) => lease.worker_id)).toEqual([
      dead.id,
      [...farm.workers.values()].find((worker) => worker.id !== dead.id)?.id,
    ]);

    // It comes back, salvages before it claims, and what it had is a rescue: beside the Result, never in it.
    await dead.again();
    const rescued = await waitUntil(async () => (await farm.task(task)).rescues[0], {
      within: 120_000,
      what: 'the rescue',
    });
    expect(rescued.commit).not.toBe(view.result?.commit);
    expect((await farm.task(task)).result?.commit).toBe(view.result?.commit);
  });

  it('W15 leaves no grandchild behind that ignores TERM, and nothing that it writes late is captured', async () => {
    const task = await farm.startTask(`
steps:
  - grandchild: { ignore_term: true, writes: late.txt }
  - write: { path: a.txt, content: "a" }
  - call: { operation: checkpoint, input: { summary: "Done.", outcome: green } }
`);
    const view = await farm.until(task);
    expect(view.result?.files_changed.map((file) => file.path)).toEqual(['a.txt']);
    const [job] = await farm.jobs(task);
    expect(processesMarked(`LONGSHORE_JOB=${job?.id}`).filter((pid) => stateOf(pid) !== 'Z')).toEqual([]);
  });
});

async function holderOf(task: string) {
  const job = await waitUntil(async () => (await farm.jobs(task)).find((found) => found.phase === 'started'), {
    within: 120_000,
    what: 'the job to start',
  });
  return { id: job.id, worker_id: job.worker_id ?? '' };
}

function workerById(id: string) {
  const worker = [...farm.workers.values()].find((found) => found.id === id);
  if (!worker) throw new Error(`no worker ${id}`);
  return worker;
}
