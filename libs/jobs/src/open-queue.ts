import { limits } from '#contracts';
import { useAccount } from './account.js';
import { claim, claimTogether } from './claim.js';
import { complete, completeTogether, prepareCompletion } from './complete.js';
import type { QueueContext } from './context.js';
import { controllerPool } from './controller-pool.js';
import { fail } from './fail.js';
import { heartbeat } from './heartbeat.js';
import { list } from './list.js';
import { cancel, lockJob, redrive, requeue } from './operate.js';
import type { Queue, QueueOptions } from './queue.js';
import { releaseHolder } from './release.js';
import { close, dropPreference, endJob, endQueued, flagEnd, hold, release, releaseJobs, unflagPause } from './scope.js';
import { signal } from './signal.js';
import { accountSql } from './sql/account.js';
import { claimSql } from './sql/claim.js';
import { leaseSql } from './sql/lease.js';
import { queueSql } from './sql/queue.js';
import { heldLease, markStarted } from './start.js';
import { waitingWithoutMachine } from './stranded.js';
import { submit } from './submit.js';
import { sweep, tidy } from './sweep.js';

/** Sweeps between two tidyings; a sweep is each second. */
const tidyEvery = 60;

export function openQueue(options: QueueOptions): Queue {
  const context: QueueContext = {
    database: options.database,
    kinds: new Map(options.kinds.map((kind) => [kind.name, kind])),
    leaseMs: options.leaseMs ?? limits.leaseMs,
    ring: options.ring ?? ignore,
    offer: options.offer ?? (async () => []),
    offered: new WeakMap(),
    mintJobToken: options.mintJobToken,
    turns: new Map(),
    seen: new WeakMap(),
    onTrouble: options.onTrouble ?? ignore,
  };
  let sweeps = 0;
  return {
    submit: (tx, job) => submit(context, tx, job),
    claim: (tx, claimer, request) => claim(context, tx, claimer, request),
    claimTogether: (tx, claims) => claimTogether(context, tx, claims),
    mayClaimNow: async (tx, { worker }) => (await tx.first(claimSql.tryClaimer, { worker }))?.mine ?? false,
    heartbeat: (holder, beats) => heartbeat(context, holder, beats),
    markStarted: (tx, holder, fence, read) => markStarted(context, tx, holder, fence, read),
    prepareCompletion: (holder, fence, end) => prepareCompletion(context, holder, fence, end),
    complete: (tx, holder, fence, end, prepared) => complete(context, tx, holder, fence, end, prepared),
    completeTogether: (tx, completions) => completeTogether(context, tx, completions),
    fail: (tx, holder, fence, failure) => fail(context, tx, holder, fence, failure),
    heldLease: (queries, holder, fence) => heldLease(context, queries, holder, fence),
    pastLease: (queries, job_id, epoch) => queries.first(queueSql.pastLease, { job_id, epoch }),
    find: (queries, job_id) => queries.first(leaseSql.find, { job_id }),
    endQueued,
    flagEnd,
    unflagPause,
    close: (tx, job, state, note) => close(context, tx, job, state, note),
    endJob: (tx, job, reason) => endJob(context, tx, job, reason),
    dropPreference: (tx, job) => dropPreference(context, tx, job),
    hold,
    release: (tx, scope) => release(context, tx, scope),
    releaseJobs: (tx, jobs) => releaseJobs(context, tx, jobs),
    signal: (tx, job, given) => signal(context, tx, job, given),
    async tellAgain(tx, job_id) {
      await tx.run(leaseSql.tellAgain, { job_id });
    },
    signalOutcomes: (queries, job_id) => queries.all(queueSql.signalOutcomes, { job_id }),
    releaseHolder: (tx, holder, note) => releaseHolder(context, tx, holder, note),
    requeue: (tx, job) => requeue(context, tx, job),
    async lock(tx, job) {
      await lockJob(context, tx, job);
    },
    cancel: (tx, job) => cancel(context, tx, job),
    redrive: (tx, job) => redrive(context, tx, job),
    list,
    counts: async (queries) => (await queries.first(queueSql.counts)) ?? { queued: 0, held: 0, leased: 0, dead: 0 },
    leasedByMachines: async (queries) =>
      (await queries.first(queueSql.leasedByMachines, { own: controllerPool }))?.count ?? 0,
    async setLimit(tx, name, max) {
      await tx.run(queueSql.setLimit, { name, max });
    },
    async pauseAccount(tx, account, ms, reason) {
      await tx.run(queueSql.pauseAccount, { account, ms, reason });
    },
    resumeAccount: async (tx, account) => (await tx.first(accountSql.resumeAccount, { account })) !== undefined,
    accounts: (queries) => queries.all(accountSql.accounts),
    accountsWaitedFor: async (queries) => (await queries.all(accountSql.waitedFor)).map(({ account }) => account),
    waitingOnAccounts: (queries, accounts) =>
      queries.all(accountSql.waitingOnAccounts, { accounts, limit: limits.pageMax }),
    useAccount: (tx, job, under) => useAccount(context, tx, job, under),
    waitingWithoutMachine,
    async sweep() {
      const swept = await sweep(context);
      if (sweeps++ % tidyEvery === 0) await tidy(context);
      return swept;
    },
  };
}

function ignore(): void {}
