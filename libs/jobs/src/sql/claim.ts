import type { LeasedJob } from '#contracts';
import { statement } from '#store';

/** One lease of a claim, or, where `lease_id` is null, only what the claim found. */
export interface ClaimedRow {
  /** This request was answered before: read its leases again. */
  readonly repeated: boolean;
  /** A class that fits has a limit with room: claim again under the lock of limits. */
  readonly limited: boolean;
  /** Queued jobs that fitted; some may be in another claimer's hands. */
  readonly seen: number;
  readonly id: string;
  readonly scope: string | null;
  readonly kind: string;
  readonly epoch: number;
  readonly lease_id: string | null;
  readonly lease_ms: number;
  readonly continues: boolean;
  /** The loss of the lease before was counted: that is given back. */
  readonly counted: boolean;
  readonly payload: LeasedJob['payload'];
  readonly turn: number;
}

interface PlainRow extends Omit<ClaimedRow, 'repeated' | 'limited' | 'seen' | 'counted'> {
  /** Nothing stood in the way of the short statement. */
  readonly clear: boolean;
  /** What the slots had room for (H26). */
  readonly room: number;
  /** Jobs that fit are queued, perhaps in other hands. */
  readonly more: boolean;
  readonly request_id: string;
}

/**
 * Claims of one machine are one at a time, farm-wide, so that its leases can be counted (H26) and of two equal requests the second
 * sees what the first was given (H7, D12). In a statement of its own, before any other lock: the claim after it has a new snapshot.
 */
const lockClaimer = statement<unknown>(
  'job.lock_claimer',
  `select pg_advisory_xact_lock(hashtextextended($worker, 0))`,
);

/** The same lock for who holds others already: it is had at once or not at all, as nobody may wait with a job in hand (H12). */
const tryClaimer = statement<{ readonly mine: boolean }>(
  'job.try_claimer',
  `select pg_try_advisory_xact_lock(hashtextextended($worker, 0)) as mine`,
);

/** Leases that the claimer holds. */
const held = `(select count(*) from job where holder = $worker and state = 'leased')`;

/**
 * What a claimer may take of a class, by its place in the queue.
 *  awaits_lane  its scope has all its lanes at work already
 *  deadline     no lease passes it: until a sweep ends the job, there is only one that is over
 */
const claimableAt = (now: string) => `
  j.state = 'queued' and not j.awaits_lane and j.available_at <= ${now} and not $worker = any(j.excluded)
  and (j.deadline is null or j.deadline > ${now}) and (j.prefer is null or j.prefer = $worker or j.prefer_until <= ${now})`;
const claimable = claimableAt('(select farm_now())');

/**
 * Jobs of one class for the requests of one claimer, where nothing is limited or paused, which is nearly always: half the work of
 * `claim`. After `lockClaimer`. It gives a request nothing where it can not tell, and then `claim` decides.
 *  clock      read once: nothing in here waits
 *  clear      no limit or pause is set anywhere; none of the requests was answered already (D12, H7; one look-up each: \`exists\`
 *             would be planned to read all leases of the worker)
 *  room       slots that no lease has (H26)
 *  heads      pool, labels, account, kind (H26, H37)
 *  best       the class whose head is first, looked at without a lock. Several jobs only where no other class has any, as they
 *             would come in turn
 *  picked     its first that are in nobody's hands: no claimer locks what it does not take. state: a row that another leased since
 *             the snapshot is looked at anew by \`for update\` (A12.1)
 *  granted    each request gets its places in their order
 *  leased     by a list of ids, of which few are expected: for a join a plan for a small table reads all of it
 *  kept       a request that was answered after all is refused by its unique number, and with it the whole transaction
 */
const claimPlain = statement<PlainRow>(
  'job.claim_plain',
  `
  with clock as materialized (
    select farm_now() as at
  ), clear as materialized (
    select not exists (select from quota where max is not null or paused_until is not null)
      and not exists (
        select from unnest($request_ids::uuid[]) as a (request_id) cross join lateral (
          select from lease where worker = $worker and boot = $boot and request_id = a.request_id limit 1
        ) answered
      ) as yes, greatest($slots::int - ${held}, 0)::int as room
  ), heads as materialized (
    select c.class, h.priority, h.turn, h.seq
    from job_class c cross join lateral (
      select j.priority, j.turn, j.seq from job j
      where j.class = c.class and ${claimableAt('(select at from clock)')} order by j.priority desc, j.turn, j.seq limit 1
    ) h
    where (select yes and room > 0 from clear)
      and c.pool = $pool and c.labels <@ $labels::text[]
      and (c.account is null or c.account = any($accounts::text[]))
      and ($kinds::text[] is null or c.kind = any($kinds::text[]))
  ), picked as materialized (
    select j.id, j.epoch + 1 as epoch, j.turn, row_number() over (order by j.priority desc, j.turn, j.seq) as place
    from (select class from heads order by priority desc, turn, seq limit 1) best cross join lateral (
      select j.id, j.epoch, j.priority, j.turn, j.seq from job j
      where j.class = best.class and ${claimableAt('(select at from clock)')} order by j.priority desc, j.turn, j.seq
      limit (select least($places::int, room) from clear) for update skip locked
    ) j
    where $places::int = 1 or (select count(*) from heads) = 1
  ), granted as materialized (
    select p.id, p.epoch, p.turn, a.request_id, p.place - a.before as n, gen_random_uuid() as lease_id, (select at from clock) as at
    from picked p join unnest($request_ids::uuid[], $befores::int[], $limits::int[]) as a (request_id, before, most)
      on p.place > a.before and p.place <= a.before + a.most
  ), kept as (
    insert into lease (job, epoch, lease_id, worker, boot, request_id, n, granted_at)
    select id, epoch, lease_id, $worker, $boot, request_id, n, at from granted
  ), leased as (
    update job j set state = 'leased', phase = 'preparing', epoch = g.epoch, lease_id = g.lease_id, holder = $worker, boot = $boot,
      lease_expires_at = least(g.at + $lease_ms::int * interval '1 ms', j.deadline),
      activity_at = g.at, prefer = null, prefer_until = null, note = null
    from granted g
    where j.id = any(array(select id from granted)) and j.id = g.id
    returning j.id, j.scope, j.kind, j.epoch, j.lease_id, j.payload, j.turn, g.request_id, g.n,
      (extract(epoch from j.lease_expires_at - g.at) * 1000)::int as lease_ms
  )
  select clear.yes as clear, clear.room, exists (select from heads) as more, l.*, false as continues
  from clear left join leased l on true
  order by l.request_id, l.n`,
);

/** Virtual time goes with what is served. A row of it that another moves at this moment is left alone. */
const advance = statement<unknown>(
  'job.advance',
  `update quota set turn = $turn::float8 from (
     select name from quota where name = 'pool:' || $pool and turn < $turn::float8 for update skip locked
   ) q where quota.name = q.name`,
);

/**
 * Leases up to $limit jobs in one statement that never waits.
 *  before          the request was answered already: nothing more is leased for it, however much is queued by now (D12). What the
 *                  claimer's slots have room for beside its leases (H26); what it froze had its slot
 *  caps, used      limits that are set: nearly always none. Counted from the leased rows, so there is no counter to drift. The count
 *                  is only good to leave out what is full; where there is room, $locked must be true: two connections that count
 *                  and then claim would break a limit of 1
 *  fits            classes by pool, labels, account and kind, so that no job is read that this claimer may not take (H26, H37);
 *                  none that is full. One whose account is paused only for the frozen sessions that were begun on it
 *  mine            frozen here since their lease was lost: they come first, past backoff and preference (D11). Worker, boot and
 *                  lease of the job's *last* lease, and that it was lost: a job put elsewhere by a person is not continued.
 *                  counted: one that was never beaten went back for nothing (H7), so there is nothing to give back
 *  heads           the head of each class by its index, without a lock: a claimer that locked every head would hide them all
 *                  from the others. A few more than asked for, as some are in other hands. None for who gets nothing new
 *  picked          one row locked at a time in their order, only as many as are taken: a look-up by id alone
 *                  (\`offset 0\`), as a join is planned for any limit and any size and may read the whole table. state: leased by another
 *                  since the snapshot (A12.1); its lane may have gone on to another
 */
const claim = statement<ClaimedRow>(
  'job.claim',
  `
  with before as materialized (
    select exists (select from lease where worker = $worker and boot = $boot and request_id = $request_id and n > $offset::int) as yes,
      greatest($slots::int - ${held}, 0) as room
  ), used as materialized (
    select name, count(*) as n
    from job j cross join lateral unnest(j.limits || array['global', 'worker:' || j.holder]) as name
    where j.state = 'leased' group by name
  ), caps as materialized (
    select q.name, coalesce(q.max <= coalesce((select n from used u where u.name = q.name), 0), false) as spent,
      q.max is null or q.paused_until > (select farm_now()) as paused
    from quota q
    where (q.max is not null or q.paused_until is not null) and (q.max is not null or q.paused_until > (select farm_now()))
  ), fits as materialized (
    select c.class, exists (select from caps where name = any(c.limits || array['global', 'worker:' || $worker])) as limited,
      exists (select from caps where paused and name = any(c.limits || array['global', 'worker:' || $worker])) as paused
    from job_class c
    where not (select yes from before)
      and c.pool = $pool and c.labels <@ $labels::text[]
      and (c.account is null or c.account = any($accounts::text[]))
      and ($kinds::text[] is null or c.kind = any($kinds::text[]))
      and not exists (select from caps where spent and name = any(c.limits || array['global', 'worker:' || $worker]))
  ), mine as materialized (
    select j.id, j.priority, j.turn, j.seq, f.limited, l.first_beat_at is not null as counted
    from unnest($frozen_jobs::uuid[], $frozen_leases::uuid[]) as asked (job, lease_id)
    cross join lateral (select * from job where id = asked.job offset 0) j
    join fits f on f.class = j.class
    cross join lateral (select * from lease where job = j.id and epoch = j.epoch offset 0) l
    where j.state = 'queued' and not j.awaits_lane and l.lease_id = asked.lease_id and l.worker = $worker and l.boot = $boot and l.ended_how = 'lost'
  ), heads as materialized (
    select true as continues, counted, id, priority, turn, seq, limited from mine
    union all
    select false, false, h.id, h.priority, h.turn, h.seq, f.limited
    from fits f cross join lateral (
      select j.id, j.priority, j.turn, j.seq from job j
      where j.class = f.class and not f.paused and ${claimable}
        and not exists (select from mine where mine.id = j.id) and not $nothing_new::boolean
      order by j.priority desc, j.turn, j.seq limit $limit::int + $spare::int
    ) h
  ), found as materialized (
    select count(*)::int as seen, not $locked::boolean and coalesce(bool_or(limited), false) as limited from heads
  ), picked as materialized (
    select j.id, j.epoch, h.continues, h.counted, h.priority, h.turn, h.seq
    from (
      select * from heads where not (select limited from found) order by continues desc, priority desc, turn, seq
    ) h cross join lateral (
      select id, epoch, state, awaits_lane from job where id = h.id offset 0 for update skip locked
    ) j
    where j.state = 'queued' and not j.awaits_lane
    limit (select least($limit::int, room + (select count(*) from mine)) from before)
  ), granted as materialized (
    select id, epoch + 1 as epoch, continues, counted, turn, gen_random_uuid() as lease_id,
      $offset::int + row_number() over (order by continues desc, priority desc, turn, seq) as n
    from picked
  ), kept as (
    insert into lease (job, epoch, lease_id, worker, boot, request_id, n, granted_at)
    select id, epoch, lease_id, $worker, $boot, $request_id, n, (select farm_now()) from granted
  ), leased as (
    update job j set state = 'leased', phase = 'preparing', epoch = g.epoch, lease_id = g.lease_id, holder = $worker, boot = $boot,
      lease_expires_at = least((select farm_now()) + $lease_ms::int * interval '1 ms', j.deadline),
      activity_at = (select farm_now()), prefer = null, prefer_until = null, note = null,
      tries = j.tries - case when g.counted and j.tries > 0 then 1 else 0 end
    from granted g
    where j.id = g.id
    returning j.id, j.scope, j.kind, j.epoch, j.lease_id, j.payload, j.lease_expires_at, g.continues, g.counted, g.turn, g.n
  )
  select (select yes from before) as repeated, found.limited, found.seen, leased.id, leased.scope, leased.kind, leased.epoch, leased.lease_id, leased.continues, leased.counted, leased.payload, leased.turn,
    (extract(epoch from leased.lease_expires_at - (select farm_now())) * 1000)::int as lease_ms
  from found left join leased on true
  order by leased.n`,
);

/**
 * Counting and claiming under a limit is one act at a time, farm-wide. In a statement of its own: the claim after it has a new
 * snapshot and sees what the holder before leased.
 */
const lockLimits = statement<unknown>('job.lock_limits', `select pg_advisory_xact_lock(7305003)`);

/** What a request was answered with before, as far as it is held still. */
const leasesOfRequest = statement<ClaimedRow>(
  'job.leases_of_request',
  `
  select j.id, j.scope, j.kind, j.epoch, j.lease_id, j.payload, j.turn, true as repeated, false as counted, false as limited, 0 as seen, exists (
      select from (select * from lease where job = j.id and epoch = j.epoch - 1 offset 0) l
      where l.worker = r.worker and l.boot = r.boot and l.ended_how = 'lost'
        and l.lease_id = any($frozen_leases::uuid[])
    ) as continues,
    (extract(epoch from j.lease_expires_at - (select farm_now())) * 1000)::int as lease_ms
  from lease r cross join lateral (select * from job where id = r.job offset 0) j
  where j.epoch = r.epoch and j.lease_id = r.lease_id and r.worker = $worker and r.boot = $boot and r.request_id = $request_id
    and j.state = 'leased' and j.lease_expires_at > (select farm_now())
  order by r.n`,
);

export const claimSql = { lockClaimer, tryClaimer, claimPlain, claim, advance, lockLimits, leasesOfRequest };
