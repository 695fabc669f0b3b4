import type { Farm, FarmWorker } from '../support/farm.js';
import { processesMarked, stateOf } from '../support/processes-of.js';
import { waitUntil } from '../support/wait-until.js';

/** Processes of a job's agent that are not just waiting to be reaped; `job` may name the epoch, too. */
export const agentsOf = (job: string | undefined): readonly number[] =>
  processesMarked(`LONGSHORE_JOB=${job}`).filter((pid) => stateOf(pid) !== 'Z');

/** The job whose agent is in the middle of its first tool, on the only worker. */
export async function atTheTool(farm: Farm): Promise<{ readonly job: string; readonly worker: FarmWorker }> {
  const [worker] = farm.workers.values();
  if (worker === undefined) throw new Error('no worker');
  const { job = '' } = await worker.event('step', ({ step }) => step === 'tool_call');
  return { job, worker };
}

/** After so many more beats of a job's holder were answered. */
export async function afterBeats(farm: Farm, job: string, beats: number): Promise<void> {
  const look = async () => {
    const [row] = await farm.rows<{ until: string }>('select lease_expires_at::text as until from job where id = $1', [
      job,
    ]);
    return row?.until;
  };
  for (let beat = 0; beat < beats; beat += 1) {
    const before = await look();
    await waitUntil(async () => (await look()) !== before, { within: 30_000, what: 'a beat' });
  }
}

export async function recoveriesOf(farm: Farm, task: string): Promise<number | undefined> {
  const rows = await farm.rows<{ recoveries: number }>('select recoveries from assignment where task = $1', [task]);
  return rows[0]?.recoveries;
}
