import { jobFail } from '#contracts';
import { operation } from '../../operation.js';
import { auditLastBeat } from './audit-last-beat.js';
import { holderOf } from './holder-of.js';

export const jobFailOperation = operation(
  jobFail,
  { catalogue: 'job', class: 'protocol', ceiling: 'on', audit: 'always', destructive: false, idempotent: true },
  {
    async run({ reason, retryable, detail, ...fence }, _, call, tx) {
      const { queue, identity } = call.services;
      call.audit.under({ job: fence.job_id, epoch: fence.epoch });
      const failure = { reason, retryable, ...(detail !== undefined && { detail }) };
      const answer = await queue.fail(tx, holderOf(call), fence, failure);
      await auditLastBeat(call, tx, fence);
      // A machine's own fault is counted on the machine, by Task: one bad job can not send it away (H11).
      if (reason === 'environment' && call.principal.kind === 'worker') {
        const job = await queue.find(tx, fence.job_id);
        await identity.workers.recordEnvironmentFailure(
          tx,
          call.principal.id,
          job?.scope ?? fence.job_id,
          detail ?? reason,
        );
      }
      return answer;
    },
  },
);
