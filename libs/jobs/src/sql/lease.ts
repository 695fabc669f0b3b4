import type { JobPhase } from '#contracts';
import { statement } from '#store';
import type { JobRow, SignalOutcome } from '../job.js';
import { restoringClasses } from './classes.js';

/**
 * The fence of every write under a lease. It stands in statements that never wait (`skip locked`), or that come after the job's
 * lock: an expiry that is read before a wait accepts a lease that ended meanwhile.
 *  epoch, lease_id, holder, boot   a worker that slept, was copied, restored from a backup, or borrowed another's token (A12.3, H14,
 *                                  H24)
 *  state                           the first terminal state is the last one (A12.8)
 *  lease_expires_at                expired but not swept yet is lost already (A12.6). A scalar sub-select: the index serves it, and
 *                                  farm_now() stands still while no controller lives (H3)
 */
const fence = `
  j.epoch = $epoch and j.lease_id = $lease_id and j.holder = $holder and j.boot = $boot
  and j.state = 'leased' and j.lease_expires_at > (select farm_now())`;

/**
 * By id and nothing else. \`offset 0\` keeps other conditions out, so that no plan that was made while the tables were small looks
 * for one job among all that are leased.
 */
const byId = '(select * from job where id = $job_id offset 0) j';

/** A job as it stands; nobody waits. */
const find = statement<JobRow>('job.find', `select j.* from job j where j.id = $job_id`);

/** All waiting for a job ends here; comes after its scope's lock (H12). */
const lock = statement<JobRow>('job.lock', `select j.* from job j where j.id = $job_id for update`);

/** The same for who reads the row behind it: a payload is large. */
const lockOnly = statement<{ id: string }>('job.lock_only', `select j.id from job j where j.id = $job_id for update`);

/** The lease as it stands: for what only reads, or after the job's lock. */
const held = statement<JobRow>('job.held', `select j.* from ${byId} where ${fence}`);

export interface SettledRow extends JobRow {
  /** Of the ends, from 1. */
  readonly n: number;
  /** Phase before. */
  readonly was: JobPhase;
  /** Beats of the lease. */
  readonly beats: number;
}

/**
 * Ends leases, each with its result, in one statement that never waits; a job flagged `cancel` ends cancelled, its work kept (D9).
 * A lease without a row: not the holder's, of a kind in $ruled, or in other hands at this moment: lock the job and call again.
 *  clock         read once, by the first fence: nothing in here waits
 *  held          first the lock, which never waits, then the fence on what was locked: the row as it is now, not as the snapshot
 *                has it
 *  ended_hash    what the holder was answered, for the same call again (A12.9, D13)
 */
const settling = (settled: string) => `
  with clock as materialized (
    select farm_now() as at
  ), given as materialized (
    select * from unnest($jobs::uuid[], $epochs::bigint[], $lease_ids::uuid[], $holders::text[], $boots::uuid[], $hashes::bytea[],
      $results::jsonb[], $notes::text[]) with ordinality as a (job_id, epoch, lease_id, holder, boot, hash, result, note, n)
  ), held as materialized (
    select j.id, j.epoch, j.phase as was, case when j.end_kind = 'cancel' then 'cancelled' else 'done' end as ends,
      a.hash, a.result, a.note, a.n
    from given a cross join lateral (select * from job where id = a.job_id offset 0 for update skip locked) j
    where j.epoch = a.epoch and j.lease_id = a.lease_id and j.holder = a.holder and j.boot = a.boot
      and j.state = 'leased' and j.lease_expires_at > (select at from clock)
      and not j.kind = any($ruled::text[])
  ), ended as (
    update lease l set ended_at = (select at from clock), ended_how = held.ends, ended_hash = held.hash,
      answer = jsonb_build_object('state', held.ends, 'kept', true)
    from held where l.job = held.id and l.epoch = held.epoch
    returning l.job, l.beats
  ), settled as (
    update job j set state = held.ends, result = held.result, lease_expires_at = null, settled_at = clock_timestamp(),
      note = held.note, started_at = coalesce(j.started_at, (select at from clock))
    from held where j.id = held.id
    returning ${settled}, held.n
  )
  select settled.*, ended.beats from settled join ended on ended.job = settled.id`;

/** For who tells the kind: with the whole row. */
const settle = statement<SettledRow>('job.settle', settling('j.*, held.was'));

/** For plain jobs, of which nobody is told: a row is wide and most of it would be read for nothing. */
const settlePlain = statement<Pick<SettledRow, 'id' | 'state' | 'n' | 'beats'>>(
  'job.settle_plain',
  settling('j.id, j.state'),
);

/** What the kind found out about the work of a completion. */
const answerKept = statement<unknown>(
  'job.answer_kept',
  `update lease set answer = answer || jsonb_build_object('kept', $kept::boolean) where job = $job_id and epoch = $epoch`,
);

interface EndedLease {
  readonly ended_hash: Buffer | null;
  readonly answer: unknown;
}

/**
 * How a lease ended, for the one that ended it (D13).
 *  lease_id, worker   anyone else, also with the right epoch, learns nothing (A12.7)
 */
const ended = statement<EndedLease>(
  'job.ended',
  `select ended_hash, answer from (select * from lease where job = $job_id and epoch = $epoch offset 0) l
   where lease_id = $lease_id and worker = $holder`,
);

/**
 * Leased → anything else without a result, or queued and held → an end. Comes after the job's lock and whatever was checked then.
 *  state     no end is ever left again (A12.8)
 *  class     may have been dropped while nothing of it was queued
 *  excluded  the machine is at fault, not the job (H11)
 *  lane      what had one keeps it while it is queued anew; what awaits one goes on waiting
 */
const leave = statement<JobRow>(
  'job.leave',
  `
  with gone as (
    update job j set state = $state, lease_expires_at = null, phase = null,
      awaits_lane = j.awaits_lane and $state = 'queued', note = case when j.awaits_lane and $state = 'queued' then j.note else $note end, end_kind = null, end_reason = null,
      available_at = (select farm_now()) + $after_ms::int * interval '1 ms',
      tries = j.tries + $tries::int, start_attempts = j.start_attempts + $start_attempts::int,
      excluded = case when $exclude::text is null then j.excluded else array_append(array_remove(j.excluded, $exclude), $exclude) end,
      settled_at = case when $state in ('done', 'dead', 'cancelled') then clock_timestamp() end
    where j.id = $job_id and j.state in ('queued', 'held', 'leased')
    returning j.*
  ), ended as (
    update lease l set ended_at = (select farm_now()), ended_how = $how, ended_hash = $hash, answer = $answer
    from gone where $how::text is not null and l.job = gone.id and l.epoch = gone.epoch and l.ended_at is null
  ), ${restoringClasses("gone where state = 'queued'")}
  select * from gone`,
);

/** First sign that the session runs, in this lease. Comes after the job's lock and the fence. */
const start = statement<JobRow>(
  'job.start',
  `
  with beaten as (
    update lease l set first_beat_at = coalesce(l.first_beat_at, (select farm_now()))
    from job j where j.id = $job_id and l.job = j.id and l.epoch = j.epoch
  )
  update job set phase = 'started', started_at = coalesce(started_at, (select farm_now())), activity_at = (select farm_now())
  where id = $job_id
  returning *`,
);

export interface BeatenRow {
  readonly n: number;
  readonly kind: string;
  readonly lease_ms: number;
  readonly started: boolean;
  readonly end_kind: 'cancel' | 'pause' | null;
  readonly end_reason: string | null;
  readonly signals:
    | readonly { readonly seq: number; readonly kind: 'steer' | 'interrupt'; readonly text: string }[]
    | null;
}

/**
 * Renews many leases in one statement that never waits. A lease without a row is not held, in other hands at this moment, or asks
 * for its kind first: each of these is then done alone, after the locks.
 *  the fence        as everywhere; a beat never brings back what is lost (A12.6)
 *  $ruled           kinds with hooks: their first start and their progress come under the scope's lock (H12, D12)
 *  phase            only goes on: a beat that was overtaken on the road does not take it back
 *  deadline         no beat passes it (H37)
 *  activity_at      a duration from the worker, so that no clock of its counts (H15); never backwards
 */
const beat = statement<BeatenRow>(
  'job.beat',
  `
  with beat as materialized (
    select * from unnest($jobs::uuid[], $epochs::bigint[], $lease_ids::uuid[], $phases::text[], $sessions::text[], $idles::int[], $progress::jsonb[])
      with ordinality as b (job_id, epoch, lease_id, phase, session_ref, idle_ms, progress, n)
  ), held as materialized (
    select j.id, j.phase as was, b.*
    from beat b cross join lateral (select * from job where id = b.job_id offset 0 for update skip locked) j
    where j.epoch = b.epoch and j.lease_id = b.lease_id and j.holder = $holder and j.boot = $boot
      and j.state = 'leased' and j.lease_expires_at > (select farm_now())
      and not (j.kind = any($ruled::text[]) and (b.progress is not null or (j.phase = 'preparing' and b.phase <> 'preparing')))
  ), counted as (
    update lease l set beats = beats + 1, first_beat_at = coalesce(first_beat_at, (select farm_now())), last_beat_at = (select farm_now()),
      progress = coalesce(held.progress, l.progress)
    from held where l.job = held.id and l.epoch = held.epoch
  ), kept as (
    update job j set lease_expires_at = least((select farm_now()) + $lease_ms::int * interval '1 ms', j.deadline),
      phase = case when array_position($order::text[], held.phase) > array_position($order::text[], j.phase) then held.phase else j.phase end,
      started_at = case when held.phase = 'preparing' then j.started_at else coalesce(j.started_at, (select farm_now())) end,
      activity_at = greatest(j.activity_at, (select farm_now()) - held.idle_ms * interval '1 ms'),
      session_ref = coalesce(held.session_ref, j.session_ref)
    from held where j.id = held.id
    returning held.n, j.id, j.kind, j.end_kind, j.end_reason, j.lease_expires_at, held.was = 'preparing' and held.phase <> 'preparing' as started
  )
  select kept.n::int, kept.kind, kept.end_kind, kept.end_reason, kept.started,
    (extract(epoch from kept.lease_expires_at - (select farm_now())) * 1000)::int as lease_ms,
    (select json_agg(json_build_object('seq', s.seq, 'kind', s.kind, 'text', coalesce(s.body ->> 'text', '')) order by s.seq)
     from signal s where s.job = kept.id and s.outcome is null) as signals
  from kept`,
);

/**
 * What became of signals. The fence: another's word, or a late one, about what the session heard does not count.
 *  outcome   the first word stands, but for a queued one, which is no delivery yet (I23)
 */
const acknowledge = statement<{ seq: number; outcome: SignalOutcome }>(
  'job.acknowledge',
  `
  update signal s set outcome = a.outcome
  from unnest($jobs::uuid[], $epochs::bigint[], $lease_ids::uuid[], $seqs::int[], $outcomes::text[])
    as a (job_id, epoch, lease_id, seq, outcome)
  cross join lateral (select * from job where id = a.job_id offset 0) j
  where s.job = a.job_id and s.seq = a.seq and (s.outcome is null or s.outcome = 'queued')
    and j.epoch = a.epoch and j.lease_id = a.lease_id and j.holder = $holder and j.boot = $boot
    and j.state = 'leased' and j.lease_expires_at > (select farm_now())
  returning s.seq, a.outcome`,
);

/** delivered: what the lost session had heard; of what is in doubt nobody may say it twice (I6). */
const tellAgain = statement<unknown>(
  'job.tell_again',
  `update signal set outcome = null where job = $job_id and kind = 'steer' and outcome = 'delivered'`,
);

/** An interrupt is said once: asking twice would stop the turn after. */
const toldInterrupts = statement<unknown>(
  'job.told_interrupts',
  `update signal set outcome = 'delivered' where job = any($jobs::uuid[]) and kind = 'interrupt' and outcome is null`,
);

export const leaseSql = {
  find,
  lock,
  lockOnly,
  held,
  settle,
  settlePlain,
  answerKept,
  ended,
  leave,
  start,
  beat,
  acknowledge,
  tellAgain,
  toldInterrupts,
};
