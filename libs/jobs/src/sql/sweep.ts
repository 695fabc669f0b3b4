import { statement } from '#store';
import type { JobRow } from '../job.js';

export interface DueRow {
  readonly id: string;
  readonly kind: string;
  readonly scope: string | null;
}

/**
 * Why a job is due, in the order of weight; null: it is not.
 *  deadline    beats can not pass it (H37); nor does waiting
 *  expired     no beat for a lease time
 *  silent      beats, but no life of the session: the worker times 45 minutes itself, the farm 50 (D6). Not while it prepares
 */
const reason = `case
    when deadline <= (select farm_now()) then 'deadline'
    when state = 'leased' and lease_expires_at <= (select farm_now()) then 'expired'
    when state = 'leased' and phase <> 'preparing' and activity_at <= (select farm_now()) - $silence_ms::int * interval '1 ms' then 'silent'
  end`;

/**
 * Candidates, without a lock: each is locked and looked at again in its own transaction, so that any number of controllers may
 * sweep at once, and none has to lead (A12.13). Those in other hands at this moment are left out: whoever holds one may be
 * sweeping it.
 */
const due = statement<DueRow>(
  'job.due',
  `
  (select id, kind, scope from job
   where state = 'leased' and (lease_expires_at <= (select farm_now()) or deadline <= (select farm_now())
     or (phase <> 'preparing' and activity_at <= (select farm_now()) - $silence_ms::int * interval '1 ms'))
   order by lease_expires_at limit $limit::int)
  union all
  (select id, kind, scope from job
   where state in ('queued', 'held') and deadline is not null and deadline <= (select farm_now())
   order by deadline limit $limit::int)`,
);

type DueReason = 'deadline' | 'expired' | 'silent';
export interface DueJob extends JobRow {
  readonly due: DueReason;
  /** No beat of this lease ever came (H7). */
  readonly unbeaten: boolean;
}

/**
 * After the job's lock: is it still due? Another sweep, a beat or a completion may have come first.
 */
const stillDue = statement<DueJob>(
  'job.still_due',
  `
  select j.*, exists (select from lease l where l.job = j.id and l.epoch = j.epoch and l.first_beat_at is null) as unbeaten
  from (select *, ${reason} as due from (select * from job where id = $job_id offset 0) found) j
  where j.due is not null and j.state in ('queued', 'held', 'leased')`,
);

/** To be had: what awaits a lane brings its class along when it gets one. */
const standing = `state = 'queued' and not awaits_lane`;

/**
 * Classes of queued jobs that are missing: a submit that ran while its class was dropped. Walks the index from class to class.
 */
const restoreClasses = statement<unknown>(
  'job.restore_classes',
  `
  with recursive queued as (
    (select class from job where ${standing} order by class limit 1)
    union all
    select (select j.class from job j where ${standing} and j.class > queued.class order by j.class limit 1)
    from queued where queued.class is not null
  )
  insert into job_class (class, kind, pool, labels, account, limits)
  select j.class, j.kind, j.pool, j.labels, j.account, j.limits
  from queued cross join lateral (select * from job where class = queued.class and ${standing} order by priority desc, turn, seq limit 1) j
  where not exists (select from job_class c where c.class = queued.class)
  on conflict do nothing`,
);

/** Classes that nothing waits in. Young ones stay: most come again. */
const dropClasses = statement<unknown>(
  'job.drop_classes',
  `delete from job_class c where c.made_at < clock_timestamp() - $age_ms::float8 * interval '1 ms'
   and not exists (select from job j where j.class = c.class and ${standing})`,
);

/** Keys that are no further than their pool say nothing: a new row of theirs would get the same turn. */
const dropKeys = statement<unknown>(
  'job.drop_keys',
  `delete from quota q using quota p
   where q.name like 'key:%' and p.name = 'pool:' || split_part(q.name, ':', 2)
     and q.turn <= p.turn and q.weight = 1 and q.max is null`,
);

/** One queued job or a hundred of each class that is given, oldest first. */
const queuedOf = statement<DueRow & { readonly class: string }>(
  'job.queued_of',
  `select j.id, j.kind, j.scope, j.class from unnest($classes::text[]) as c (class)
   cross join lateral (select id, kind, scope, class, seq from job
     where job.class = c.class and ${standing} order by priority desc, turn, seq limit $limit::int) j
   order by j.seq limit $limit::int`,
);
const classes = statement<{
  readonly class: string;
  readonly kind: string;
  readonly pool: string;
  readonly labels: readonly string[];
  readonly account: string | null;
}>('job.classes', `select class, kind, pool, labels, account from job_class`);
const excludedJobs = statement<
  DueRow & { readonly class: string; readonly excluded: readonly string[]; readonly note: string | null }
>(
  'job.excluded_jobs',
  `select id, kind, scope, class, excluded, note from job where state = 'queued' and excluded <> '{}' and class = any($classes::text[])
   order by seq limit $limit::int`,
);

export const sweepSql = { due, stillDue, restoreClasses, dropClasses, dropKeys, queuedOf, classes, excludedJobs };
