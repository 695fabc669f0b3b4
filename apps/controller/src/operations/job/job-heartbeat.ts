import { FarmError, jobHeartbeat, type WorkerReport } from '#contracts';
import type { BeatAnswer, Call } from '#gate';
import type { Services } from '../../farm.js';
import { operation } from '../../operation.js';
import { holderOf } from './holder-of.js';

/** Each lease is renewed in a transaction of its own: one lease's trouble is not the others' (H13). */
export const jobHeartbeatOperation = operation(
  jobHeartbeat,
  { catalogue: 'job', class: 'protocol', ceiling: 'on', audit: 'always', destructive: false, idempotent: true },
  {
    async prepare(input, call) {
      const [worker, leases] = await Promise.all([
        recordBeat(call, input.worker),
        call.services.queue.heartbeat(holderOf(call), input.leases),
      ]);
      return { worker, leases: [...leases] };
    },

    async run(input, answer, call, tx) {
      const held = new Set(answer.leases.filter((lease) => lease.held).map((lease) => lease.job_id));
      const beaten = input.leases.filter(({ job_id }) => held.has(job_id));
      const leases = beaten.map(({ job_id, epoch }) => ({ job: job_id, epoch }));
      call.audit.instead(await call.services.firstBeats.unaudited(tx, leases));
      return answer;
    },
  },
);

/** A machine says how it is; of an agent the farm asks nothing and wants nothing but its leases. */
async function recordBeat(call: Call<Services>, report: WorkerReport | undefined): Promise<BeatAnswer> {
  const { principal, services } = call;
  const isWorker = principal.kind === 'worker';
  if (isWorker !== (report !== undefined))
    throw new FarmError('invalid_input', 'A worker, and nobody else, says of itself how it is', {
      fields: [{ path: '/worker', rule: isWorker ? 'type:object' : 'unknown_field' }],
    });
  if (!isWorker || !report) return { drain: false, paused: false };
  return await services.identity.workers.recordBeat(services.database, principal, report);
}
