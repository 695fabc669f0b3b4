import { FarmError } from '#contracts';
import { processesWith } from '../../farm/process-scan.js';
import { agentOf, untilNone } from './agent-processes.js';
import type { Fault } from './stage.js';

/** kill -9 of the worker that holds the job: another one claims it at the next epoch, and its agent does not live on. */
export const kill: Fault = {
  about: 'the worker that holds the job is killed (kill -9) in the middle; another one finishes',
  leaseMs: 6_000,
  epochs: 2,
  async strike({ farm, tell, signal }, victim) {
    const before = (await processesWith(agentOf(victim))).length;
    const { process } = farm.worker(victim.worker);
    process.signal('SIGKILL');
    await process.ended;
    tell(
      victim.worker,
      `killed with kill -9, process ${process.pid}; its agent had ${before} ${before === 1 ? 'process' : 'processes'}`,
    );
    if (!(await untilNone(agentOf(victim), signal))) {
      throw new FarmError('internal', 'Agent processes of the killed worker are still alive.');
    }
    tell(victim.worker, 'no process of its agent is alive: the guardian ended them');
  },
  async aftermath(_stage, victim) {
    return { killed_worker: victim.workerId };
  },
};
