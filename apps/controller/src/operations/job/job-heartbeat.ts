import { jobHeartbeat } from '#contracts';
import { operation } from '../../operation.js';
import { holderOf, workerOf } from './worker-of.js';

/** Each lease is renewed in a transaction of its own: one lease's trouble is not the others' (H13). */
export const jobHeartbeatOperation = operation(
  jobHeartbeat,
  { catalogue: 'job', class: 'protocol', ceiling: 'on', audit: 'always', destructive: false, idempotent: true },
  {
    async prepare(input, call) {
      const { identity, database, queue } = call.services;
      const [worker, leases] = await Promise.all([
        identity.workers.recordBeat(database, workerOf(call), input.worker),
        queue.heartbeat(holderOf(call), input.leases),
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
