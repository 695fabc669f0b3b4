import { statement } from '#store';

const today = `(clock_timestamp() at time zone 'utc')::date`;

/** Hand-written SQL of what jobs have said. */
export const outputSql = {
  /**
   * Counts a segment before it is stored; nothing when it does not fit.
   *  first predicate   what the worker's other leases of the day have; two at once may both fit where one did
   *  second predicate  what this lease has: its row is locked, so its segments fit one by one
   */
  count: statement<{ bytes: number }>(
    'teams.output_count',
    `insert into output_stored as o (job, epoch, worker, day, bytes)
     select $job::uuid, $epoch::bigint, $worker::text, ${today}, $bytes::bigint
     where $bytes::bigint <= $most::bigint and $bytes::bigint + (
       select coalesce(sum(bytes), 0) from output_stored where worker = $worker::text and day = ${today}
     ) <= $worker_most::bigint
     on conflict (job, epoch) do update set bytes = o.bytes + excluded.bytes
     where o.bytes + excluded.bytes <= $most::bigint
     returning bytes`,
  ),
  stored: statement<{ bytes: number }>(
    'teams.output_of_lease',
    `select bytes from output_stored where job = $job and epoch = $epoch`,
  ),
} as const;
