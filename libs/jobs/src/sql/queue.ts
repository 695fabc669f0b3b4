import { statement } from '#store';
import type { JobRow } from '../job.js';
import type { PastLease } from '../queue.js';
import { restoringClasses } from './classes.js';
import { awaiting, lanesUsed, waitingForLane } from './lanes.js';

/**
 * Queues a job at its key's next turn.
 *  greatest     a key that was away begins where the others are by now: it neither owes for what it used alone nor saves up what
 *               it left (start-time fair queueing)
 *  1 / weight   a key of weight 2 gets two turns where another gets one
 * The key's row is locked from here to the commit: two submits of one key never get the same turn.
 *  lane         none is free, or others await one already; only asked for a kind that has lanes
 */
const submit = statement<{ seq: number; awaits_lane: boolean }>(
  'job.submit',
  `
  with class as (
    insert into job_class (class, kind, pool, labels, account, limits) values ($class, $kind, $pool, $labels, $account, $limits)
    on conflict do nothing
  ), pool as (
    insert into quota (name) values ('pool:' || $pool) on conflict do nothing
  ), served as materialized (
    select coalesce((select turn from quota where name = 'pool:' || $pool), 0) as turn
  ), key as (
    insert into quota as q (name, weight, turn)
    select 'key:' || $pool || ':' || $fairness_key, $weight::float8, served.turn + 1 / $weight::float8 from served
    on conflict (name) do update set turn = greatest(q.turn, (select turn from served)) + 1 / q.weight
    returning q.turn - 1 / q.weight as turn
  ), lane as (
    select case when $lanes::int is null or $state <> 'queued' then false
      else ${awaiting} or ${lanesUsed} >= $lanes::int end as awaited
  )
  insert into job (id, kind, scope, pool, labels, class, priority, fairness_key, turn, limits, account, state, awaits_lane, note,
    available_at, prefer, prefer_until, deadline, payload)
  select $id, $kind, $scope, $pool, $labels, $class, $priority, $fairness_key, key.turn, $limits, $account, $state, lane.awaited,
    case when lane.awaited then ${waitingForLane} end, (select farm_now()) + $delay_ms::int * interval '1 ms',
    $prefer, (select farm_now()) + $prefer_ms::int * interval '1 ms', (select farm_now()) + $deadline_ms::float8 * interval '1 ms', $payload
  from key, lane
  returning seq, awaits_lane`,
);

/**
 * Queued and held jobs of a scope end. The scope's lock is held, so nothing of it is submitted meanwhile; a claimer may hold one
 * of the rows: after the wait its state is read anew, and a leased job is left to `flag_end`, which comes next.
 */
const endQueued = statement<JobRow>(
  'job.end_queued',
  `update job set state = 'cancelled', awaits_lane = false, note = $note, settled_at = clock_timestamp()
   where scope = $scope and state in ('queued', 'held') returning *`,
);

/**
 * A cancel is never taken back, by a pause neither (D9).
 *  $of   kinds that are told; null: all. A command goes on to its end while the Task around it is paused
 */
const flagEnd = statement<{ id: string }>(
  'job.flag_end',
  `update job set end_kind = $kind, end_reason = $reason
   where scope = $scope and state = 'leased' and end_kind is distinct from 'cancel' and kind = coalesce($of::text, kind)
   returning id`,
);
/** One job, whose lock is held and which is leased. */
const flagEndOf = statement<JobRow>(
  'job.flag_end_of',
  `update job set end_kind = 'cancel', end_reason = $reason where id = $job_id returning *`,
);
const unflagPause = statement<{ id: string }>(
  'job.unflag_pause',
  `update job set end_kind = null, end_reason = null
   where scope = $scope and state = 'leased' and end_kind = 'pause' returning id`,
);

const hold = statement<JobRow>(
  'job.hold',
  `update job set state = 'held', awaits_lane = false where scope = $scope and state = 'queued' returning *`,
);
/** Jobs of $laned kinds await a lane first: which of them get one is for who counts lanes. */
const release = statement<JobRow>(
  'job.release',
  `
  with freed as (
    update job set state = 'queued', available_at = (select farm_now()), awaits_lane = kind = any($laned::text[]),
      note = case when kind = any($laned::text[]) then ${waitingForLane} end
    where scope = $scope and state = 'held' returning *
  ), ${restoringClasses('freed')}
  select * from freed`,
);

/**
 * Jobs that wait by themselves.
 *  state         a person may have ended it
 *  scope         what belongs to a Task goes on with it and not before (D8)
 *  skip locked   another controller is at it
 */
const releaseJobs = statement<JobRow>(
  'job.release_jobs',
  `
  with found as materialized (
    select id from job where id = any($jobs::uuid[]) and state = 'held' and scope is null for update skip locked
  ), freed as (
    update job j set state = 'queued', available_at = (select farm_now()), note = null from found where j.id = found.id returning j.*
  ), ${restoringClasses('freed')}
  select * from freed`,
);

/** queued: whoever claimed it meanwhile has it. */
const dropPreference = statement<JobRow>(
  'job.drop_preference',
  `update job set prefer = null, prefer_until = null where id = $job_id and state = 'queued' and prefer is not null returning *`,
);

/** Another life for a dead job, whose lock is held: the only way out of an end, and only by hand. One of $laned kinds awaits a lane. */
const revive = statement<JobRow>(
  'job.revive',
  `
  with alive as (
    update job set state = 'queued', tries = 0, start_attempts = 0, excluded = '{}', settled_at = null, deadline = null,
      available_at = (select farm_now()), awaits_lane = kind = any($laned::text[]),
      note = case when kind = any($laned::text[]) then ${waitingForLane} end
    where id = $job_id returning *
  ), ${restoringClasses('alive')}
  select * from alive`,
);

/** A person who puts a job back says that its machines are well again. */
const forgetExclusions = statement<unknown>(
  'job.forget_exclusions',
  `update job set excluded = '{}' where id = $job_id`,
);

/** The job's lock is held: sequences have no gap and no twin. */
const signal = statement<{ seq: number }>(
  'job.signal',
  `insert into signal (job, seq, kind, body)
   select $job_id, 1 + coalesce(max(seq), 0), $kind, $body from signal where job = $job_id
   returning seq`,
);
const signalOutcomes = statement<{ seq: number; kind: string; outcome: string | null }>(
  'job.signal_outcomes',
  `select seq, kind, outcome from signal where job = $job_id order by seq`,
);

/** Newest first; the cursor is the last seq shown. */
const list = statement<JobRow>(
  'job.list',
  `select * from job
   where ($state::text is null or state = $state) and ($scope::text is null or scope = $scope)
     and ($worker::text is null or holder = $worker) and ($before::bigint is null or seq < $before)
   order by seq desc limit $limit::int`,
);
const leasesOf = statement<PastLease & { readonly job: string }>(
  'job.leases_of',
  `select job, epoch, lease_id, worker, boot, granted_at, beats, ended_how from lease where job = any($jobs::uuid[]) order by job, epoch`,
);
const pastLease = statement<PastLease>(
  'job.past_lease',
  `select epoch, lease_id, worker, boot, granted_at, beats, ended_how from lease where job = $job_id and epoch = $epoch`,
);
/** Counted by the indexes of each state. */
/** Sorted, so that who locks them all does so in one order (H12). */
const leasedBy = statement<Pick<JobRow, 'id' | 'kind' | 'scope'>>(
  'job.leased_by',
  `select id, kind, scope from job where holder = $holder and state = 'leased' order by scope, id`,
);

const counts = statement<{ queued: number; held: number; leased: number; dead: number }>(
  'job.counts',
  `select (select count(*) from job where state = 'queued') as queued, (select count(*) from job where state = 'held') as held,
     (select count(*) from job where state = 'leased') as leased, (select count(*) from job where state = 'dead') as dead`,
);

const leasedByMachines = statement<{ count: number }>(
  'job.leased_by_machines',
  `select count(*) as count from job where state = 'leased' and pool <> $own`,
);

const setLimit = statement<unknown>(
  'job.set_limit',
  `insert into quota (name, max) values ($name, $max) on conflict (name) do update set max = excluded.max`,
);
/** The longer pause stands. */
const pauseAccount = statement<unknown>(
  'job.pause_account',
  `insert into quota as q (name, paused_until, paused_reason)
   values ('account:' || $account, (select farm_now()) + $ms::float8 * interval '1 ms', $reason)
   on conflict (name) do update set paused_until = excluded.paused_until, paused_reason = excluded.paused_reason
   where q.paused_until is null or q.paused_until < excluded.paused_until`,
);

export const queueSql = {
  submit,
  leasedBy,
  endQueued,
  flagEnd,
  flagEndOf,
  unflagPause,
  hold,
  release,
  releaseJobs,
  dropPreference,
  revive,
  forgetExclusions,
  signal,
  signalOutcomes,
  list,
  leasesOf,
  pastLease,
  counts,
  leasedByMachines,
  setLimit,
  pauseAccount,
};
