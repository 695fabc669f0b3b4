import {
  FarmError,
  type JobState,
  jobSubmit,
  newId,
  type Preview,
  queueCancel,
  queueList,
  queueRedrive,
  queueRequeue,
  quotaSet,
} from '#contracts';
import type { Access, Call } from '#gate';
import type { AccountState, JobRow, PastLease } from '#jobs';
import type { Transaction } from '#store';
import type { Services } from '../../farm.js';
import { operation } from '../../operation.js';

export const queueListOperation = operation(
  queueList,
  { catalogue: 'operator', class: 'read', ceiling: 'off' },
  {
    async run({ state, task_id, worker_id, limit, cursor }, _, { services }, tx) {
      const { jobs, next_cursor } = await services.queue.list(tx, {
        limit,
        ...(state !== undefined && { state }),
        ...(task_id !== undefined && { scope: task_id }),
        ...(worker_id !== undefined && { worker: worker_id }),
        ...(cursor !== undefined && { cursor }),
      });
      const waits = jobs.some((job) => job.state === 'queued' && job.account !== null);
      const accounts = waits ? await services.queue.accounts(tx) : [];
      return { jobs: jobs.map((job) => viewOf(job, accounts)), next_cursor };
    },
  },
);

const putsBack: Access = { catalogue: 'operator', class: 'mutate', ceiling: 'off' };

/** Takes work from a machine that may be doing it: a person means it. */
export const queueRequeueOperation = operation(queueRequeue, putsBack, {
  lock: ({ job_id }, { services }, tx) => services.queue.lock(tx, job_id),
  preview: ({ job_id }, call, tx) =>
    previewOf(call, tx, job_id, 'queued', 'Takes the lease away and queues the job again'),
  async run({ job_id }, _, { services }, tx) {
    return { job_id, state: await services.queue.requeue(tx, job_id) };
  },
});

export const queueCancelOperation = operation(queueCancel, putsBack, {
  lock: ({ job_id }, { services }, tx) => services.queue.lock(tx, job_id),
  preview: ({ job_id }, call, tx) => previewOf(call, tx, job_id, 'cancelled', 'Cancels the job'),
  async run({ job_id }, _, { services }, tx) {
    return { job_id, state: await services.queue.cancel(tx, job_id) };
  },
});

/** Brings back what was given up: nothing is lost by it. */
export const queueRedriveOperation = operation(
  queueRedrive,
  { ...putsBack, consent: 'implied', destructive: false },
  {
    lock: ({ job_id }, { services }, tx) => services.queue.lock(tx, job_id),
    preview: ({ job_id }, call, tx) => previewOf(call, tx, job_id, 'queued', 'Gives the job another life'),
    async run({ job_id }, _, { services }, tx) {
      return { job_id, state: await services.queue.redrive(tx, job_id) };
    },
  },
);

export const jobSubmitOperation = operation(
  jobSubmit,
  { ...putsBack, consent: 'implied', destructive: false },
  {
    preview: async ({ kind, pool }) => ({
      summary: `Queues a job of kind ${kind}`,
      changes: [{ id: 'job', before: null, after: { kind, pool, state: 'queued' } }],
    }),
    async run({ fairness_key, limit_name, deadline_seconds, ...job }, _, { services }, tx) {
      const id = newId();
      await services.queue.submit(tx, {
        ...job,
        id,
        ...(fairness_key !== undefined && { fairness_key }),
        ...(limit_name !== undefined && { limits: [`limit:${limit_name}`] }),
        ...(deadline_seconds !== undefined && { deadline_ms: deadline_seconds * 1000 }),
      });
      return { job_id: id };
    },
  },
);

export const quotaSetOperation = operation(
  quotaSet,
  { catalogue: 'admin', class: 'mutate', ceiling: 'never', consent: 'implied' },
  {
    async run({ name, max }, _, { services }, tx) {
      await services.queue.setLimit(tx, name, max);
      return { name, max };
    },
  },
);

/** The lease is of the picture: what another holds by now is another thing to take away. */
async function previewOf(
  call: Call<Services>,
  tx: Transaction,
  id: string,
  after: JobState,
  summary: string,
): Promise<Preview> {
  const job = await call.services.queue.find(tx, id);
  if (!job) throw new FarmError('not_found', 'There is no such job');
  return { summary, changes: [{ id, before: { state: job.state, epoch: job.epoch }, after: { state: after } }] };
}

function viewOf(job: JobRow & { readonly leases: readonly PastLease[] }, accounts: readonly AccountState[]) {
  return {
    id: job.id,
    kind: job.kind,
    task_id: job.scope,
    member: memberOf(job.payload),
    state: job.state,
    // Where a job stood when it ended is no place where it is.
    phase: job.state === 'leased' ? job.phase : null,
    epoch: job.epoch,
    worker_id: job.holder,
    pool: job.pool,
    labels: [...job.labels],
    priority: job.priority,
    tries: job.tries,
    created_at: job.created_at.toISOString(),
    settled_at: job.settled_at?.toISOString() ?? null,
    note: waitOf(job, accounts) ?? job.note,
    leases: job.leases.map(({ epoch, worker, boot, ended_how }) => ({ epoch, worker_id: worker, boot, ended_how })),
  };
}

/** What a queued job waits for that nobody sees on it: its account. */
function waitOf({ state, account }: JobRow, accounts: readonly AccountState[]): string | undefined {
  const its = state === 'queued' ? accounts.find((other) => other.account === account) : undefined;
  if (its === undefined) return undefined;
  const until = its.paused_ms === null ? undefined : new Date(Date.now() + its.paused_ms).toISOString();
  if (until !== undefined) return `account ${account} is paused until ${until}`;
  return its.max !== null && its.busy >= its.max ? `account ${account} is at its limit of ${its.max}` : undefined;
}

function memberOf(payload: unknown): string | null {
  if (typeof payload !== 'object' || payload === null || !('member_id' in payload)) return null;
  return typeof payload.member_id === 'string' ? payload.member_id : null;
}
