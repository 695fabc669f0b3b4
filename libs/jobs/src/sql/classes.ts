/**
 * Part of a statement that queues jobs: brings back their classes, which may have been dropped while nothing of them was queued.
 *  rows   the jobs, as an earlier part of the statement has them
 */
export const restoringClasses = (rows: string) => `class as (
    insert into job_class (class, kind, pool, labels, account, limits)
    select distinct class, kind, pool, labels, account, limits from ${rows} on conflict do nothing
  )`;
