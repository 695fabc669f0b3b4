import { jobClaim } from '#contracts';
import { operation } from '../../operation.js';
import { claimerOf, workerOf } from './worker-of.js';

export const jobClaimOperation = operation(
  jobClaim,
  { catalogue: 'job', class: 'protocol', ceiling: 'on', audit: 'always' },
  {
    async run({ request_id, limit, frozen }, _, call, tx) {
      const worker = workerOf(call);
      // Paused, draining or in quarantine: it gets nothing new, and what it has goes on (D11).
      const nothing_new = !worker.accepting || worker.slots === 0;
      if (nothing_new && frozen.length === 0) return { jobs: [] };
      const most = Math.min(limit, nothing_new ? frozen.length : worker.slots);
      const jobs = await call.services.queue.claim(tx, claimerOf(worker), {
        request_id,
        limit: most,
        frozen,
        nothing_new,
      });
      if (jobs.length > 0) call.audit.instead(jobs.map(({ id, epoch }) => ({ job: id, epoch })));
      tx.afterCommit(() => {
        for (const { id } of jobs) call.services.ringer.settled(id);
      });
      return { jobs: [...jobs] };
    },

    /** The wait is over when there may be work; then it looks once more, also at the end of its time (H18). */
    waits({ wait_seconds }, { jobs }, call) {
      const left = wait_seconds * 1000 - (performance.now() - call.startedAt);
      const isOver = left <= 0 || call.signal.aborted || call.services.claims.isClosed;
      if (jobs.length > 0 || isOver) return undefined;
      return () => call.services.claims.wait(workerOf(call), left, call.signal);
    },
  },
);
