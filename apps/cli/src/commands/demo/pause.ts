import { join } from 'node:path';
import { FarmError } from '#contracts';
import { agentOf, untilNone, untilSeen } from './agent-processes.js';
import { sendLateWrites } from './late-writes.js';
import type { Fault } from './stage.js';

const tokensOf = (data: string, worker: string) => join(data, `tokens-${worker}.json`);

/** SIGSTOP of the worker past its lease, as a laptop that falls asleep: it wakes up and can change nothing. */
export const pause: Fault = {
  about:
    'the worker that holds the job is stopped (SIGSTOP) past its lease; another one finishes; the sleeper can change nothing',
  leaseMs: 6_000,
  workerEnv: (data, worker) => ({ LONGSHORE_WORKER_TRACE_TOKENS_FILE: tokensOf(data, worker) }),
  epochs: 2,
  async strike({ farm, tell, signal }, victim) {
    const { process } = farm.worker(victim.worker);
    process.signal('SIGSTOP');
    tell(victim.worker, `stopped with SIGSTOP, process ${process.pid}; its agent runs on, for now`);
    const frozen = await untilSeen(
      agentOf(victim),
      (seen) => seen.length > 0 && seen.every(({ state }) => state === 'T'),
      signal,
    );
    if (!frozen) throw new FarmError('internal', "The agent of the stopped worker was not frozen at the lease's end.");
    tell(victim.worker, "the lease is over: the guardian has frozen the agent's processes (state T)");
  },
  async aftermath({ farm, data, library, tell, watch, signal }, victim) {
    const { process } = farm.worker(victim.worker);
    const refused = await sendLateWrites(farm.url, tokensOf(data, victim.worker), library, victim);
    for (const { op, epoch, code } of refused)
      tell(victim.worker, `late write ${op} of epoch ${epoch}: refused, ${code}`);
    process.signal('SIGCONT');
    tell(victim.worker, 'goes on (SIGCONT)');
    await watch.until(
      ({ worker, job, event }) => worker === victim.worker && job === victim.job && event === 'lost',
      AbortSignal.any([signal, AbortSignal.timeout(30_000)]),
    );
    await watch.until(
      ({ worker, job, event }) =>
        worker === victim.worker && job === victim.job && ['rescued', 'retained'].includes(event),
      AbortSignal.any([signal, AbortSignal.timeout(30_000)]),
    );
    if (!(await untilNone(agentOf(victim), signal))) throw new FarmError('internal', 'The frozen agent was not ended.');
    tell(victim.worker, 'has ended its agent; what it had done is kept and never merged');
    return { refused_late_writes: refused };
  },
};
