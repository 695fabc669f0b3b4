import { jobComplete } from '#contracts';
import type { Call } from '#gate';
import type { JobRow } from '#jobs';
import type { Transaction } from '#store';
import type { Services } from '../../farm.js';
import { operation } from '../../operation.js';
import { auditLastBeat, noteLastBeat } from './audit-last-beat.js';
import { holderOf } from './holder-of.js';

export const jobCompleteOperation = operation(
  jobComplete,
  { catalogue: 'job', class: 'protocol', ceiling: 'on', audit: 'always', destructive: false, idempotent: true },
  {
    /** Git and disk: unpack, check, pin. Outside any transaction and safe to repeat. */
    prepare({ ended, result, ...fence }, call) {
      call.audit.under({ job: fence.job_id, epoch: fence.epoch });
      return call.services.queue.prepareCompletion(holderOf(call), fence, { ended, result });
    },

    async run({ ended, result, ...fence }, prepared, call, tx) {
      const { queue } = call.services;
      const [answer] = await Promise.all([
        queue.complete(tx, holderOf(call), fence, { ended, result }, prepared),
        // What ends while preparing ends at once: there was no beat to speak of, and no look for one.
        isBeaten(prepared.job) && auditLastBeat(call, tx, fence),
      ]);
      clearFailures([call], tx);
      return answer;
    },

    /** Plain jobs: nothing to prepare, and no scope whose lock others wait for. */
    async together(calls, tx) {
      const ends = calls.map(({ input: { ended, result, ...fence }, call }) => ({
        holder: holderOf(call),
        fence,
        end: { ended, result },
      }));
      const settled = await calls[0]?.call.services.queue.completeTogether(tx, ends);
      const ran = calls.filter((_, n) => settled?.[n] !== undefined);
      clearFailures(
        ran.map(({ call }) => call),
        tx,
      );
      return calls.map(({ input: { job_id, epoch }, call }, n) => {
        const end = settled?.[n];
        if (!end) return undefined;
        const { beats, ...answer } = end;
        call.audit.under({ job: job_id, epoch });
        noteLastBeat(call, { job_id, epoch }, beats);
        return answer;
      });
    },
  },
);

/** A job that ran forgives the machine (H11). */
function clearFailures(calls: readonly Call<Services>[], tx: Transaction): void {
  const machines = calls.flatMap(({ principal }) => (principal.kind === 'worker' ? [principal.id] : []));
  calls[0]?.services.identity.workers.clearEnvironmentFailures(tx, machines);
}

function isBeaten(job: JobRow | undefined): boolean {
  return job !== undefined && job.phase !== null && job.phase !== 'preparing';
}
