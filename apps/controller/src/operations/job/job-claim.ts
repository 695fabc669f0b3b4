import { jobClaim, type LeasedJob, limits } from '#contracts';
import type { Call } from '#gate';
import type { Transaction } from '#store';
import type { Services } from '../../farm.js';
import { operation } from '../../operation.js';
import { claimantOf } from './holder-of.js';
import { workerOf } from './worker-of.js';

export const jobClaimOperation = operation(
  jobClaim,
  { catalogue: 'job', class: 'protocol', ceiling: 'on', audit: 'always', destructive: false, idempotent: true },
  {
    async run({ request_id, limit, frozen, kinds }, _, call, tx) {
      const claimant = claimantOf(call, kinds);
      const { slots, accepting } = claimant;
      // Paused, draining or in quarantine: it gets nothing new, and what it has goes on (D11).
      const nothing_new = !accepting || slots === 0;
      if (nothing_new && frozen.length === 0) return { jobs: [] };
      call.services.claims.look(claimant, call.signal);
      const most = Math.min(limit, nothing_new ? frozen.length : slots);
      const jobs = await call.services.queue.claim(tx, claimant, { request_id, limit: most, frozen, nothing_new });
      return given(jobs, call, tx);
    },

    /** Each worker's requests are one statement: where many come at once, most are from one with many slots. */
    async together(calls, tx) {
      const plain = calls.filter(({ input, call }) => {
        const { accepting, slots } = workerOf(call);
        return input.frozen.length === 0 && accepting && slots > 0;
      });
      const machines = [...Map.groupBy(plain, ({ call }) => workerOf(call)).values()];
      const alike = machines.flatMap((asked) => [
        ...Map.groupBy(asked, ({ input }) => input.kinds?.join(' ')).values(),
      ]);
      const claims = alike.flatMap((asked) => {
        const [first] = asked;
        if (!first) return [];
        const claimer = claimantOf(first.call, first.input.kinds);
        for (const { call } of asked) call.services.claims.look(claimer, call.signal);
        const requests = asked.map(({ input: { request_id, limit } }) => ({
          request_id,
          limit: Math.min(limit, claimer.slots),
        }));
        return [{ claimer, requests }];
      });
      const found = await calls[0]?.call.services.queue.claimTogether(tx, claims);
      const answers = new Map<unknown, ReturnType<typeof given>>();
      for (const [group, asked] of alike.entries()) {
        for (const [n, each] of asked.entries()) {
          const jobs = found?.[group]?.[n];
          if (jobs) answers.set(each, given(jobs, each.call, tx));
        }
      }
      return calls.map((each) => answers.get(each));
    },

    /**
     * The wait is over when there may be work, and every 5 s whatever rang; then it looks once more, also at the end of its time
     * (H18). Whoever submits a job on this controller lets it look in that transaction.
     */
    waits({ wait_seconds, kinds }, { jobs }, call) {
      const left = wait_seconds * 1000 - (performance.now() - call.startedAt);
      const isOver = left <= 0 || call.signal.aborted || call.services.claims.isClosed;
      if (jobs.length > 0 || isOver) return undefined;
      const claimant = claimantOf(call, kinds);
      return (ride) =>
        call.services.claims.wait(
          claimant,
          Math.min(left, limits.pollMs),
          call.signal,
          ride &&
            (async (tx) => {
              const mayLook = await call.services.queue.mayClaimNow(tx, claimant);
              return mayLook && !call.signal.aborted ? (await ride(tx))?.jobs : undefined;
            }),
        );
    },
  },
);

function given(jobs: readonly LeasedJob[], { audit, services }: Call<Services>, tx: Transaction) {
  if (jobs.length > 0) audit.instead(jobs.map(({ id, epoch }) => ({ job: id, epoch })));
  tx.afterCommit(() => {
    for (const { id } of jobs) services.ringer.settled(id);
  });
  return { jobs: [...jobs] };
}
