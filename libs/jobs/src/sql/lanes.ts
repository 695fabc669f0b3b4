import { statement } from '#store';
import type { JobRow } from '../job.js';
import { restoringClasses } from './classes.js';

/**
 * Lanes of a scope. They are counted from rows, so that there is no counter to drift, by an index that holds only what is queued
 * or leased; whoever counts holds the scope's lock. A claim may lease one of them meanwhile: that changes no count.
 */
const ofScope = `scope = $scope and kind = $kind and state in ('queued', 'leased')`;
export const lanesUsed = `(select count(*) from job where not awaits_lane and ${ofScope})`;
export const awaiting = `exists (select from job where awaits_lane and ${ofScope})`;
export const waitingForLane = `'waiting: lanes'`;

/**
 * Gives the free lanes of a scope to those who have waited longest. The scope's lock is held.
 *  lanes     never more than there are: what is leased and what can be claimed at any moment both have one
 *  ready     who may not be claimed yet (a rate limit) would only keep a lane from others
 *  available_at   from now on a machine may take it: how long none did counts from here, not from when it began to wait
 *  class     may have been dropped meanwhile
 */
const admit = statement<JobRow>(
  'job.admit',
  `
  with admitted as (
    update job set awaits_lane = false, note = null, available_at = (select farm_now())
    where id = any(array(
      select id from job where awaits_lane and ${ofScope} and available_at <= (select farm_now())
      order by priority desc, available_at, seq limit greatest($lanes::int - ${lanesUsed}, 0)
    ))
    returning *
  ), ${restoringClasses('admitted')}
  select * from admitted`,
);

/**
 * A lane that nobody can use goes on to others: its job is behind a rate limit, or no machine took it for so long, and what waits
 * is of another class. The scope's lock is held.
 *  lost          the session of one whose lease was lost may stand frozen at its machine, which gets it first (D11); one that its
 *                machine gave back has none
 *  epoch         what is tried again after a moment keeps its lane for it
 *  skip locked   a claimer is taking it at this moment
 */
const passOn = statement<{ id: string }>(
  'job.pass_on',
  `
  update job set awaits_lane = true, note = ${waitingForLane}, available_at = greatest(available_at, (select farm_now()))
  where id = any(array(
    select id from job j
    where not awaits_lane and ${ofScope} and state = 'queued'
      and not exists (select from (select * from lease where job = j.id and epoch = j.epoch offset 0) l where l.ended_how = 'lost')
      and (epoch = 0 and available_at > (select farm_now()) or available_at <= (select farm_now()) - $patience_ms::int * interval '1 ms')
      and exists (select from job where awaits_lane and ${ofScope} and available_at <= (select farm_now()) and class <> j.class)
    for update skip locked
  ))
  returning id`,
);

/** Where something awaits a lane. */
const awaited = statement<{ scope: string; kind: string }>(
  'job.awaited_lanes',
  `select distinct scope, kind from job where awaits_lane and scope is not null and state in ('queued', 'leased')`,
);

export const laneSql = { admit, passOn, awaited };
