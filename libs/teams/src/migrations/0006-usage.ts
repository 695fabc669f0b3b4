import type { Migration } from '#store';

/** What Dispatches use: requests, tokens, list price. One row for each run of a provider, summed up over its Task. */
export const usageMigration: Migration = {
  order: 6,
  name: 'teams-usage',
  up: `
create table dispatch_usage (
  dispatch uuid not null references dispatch,
  -- Epoch at which the run began: a run that goes on over a lease counts once, a new run of the same Dispatch by itself.
  since_epoch bigint not null,
  task text not null references task,
  member text not null,
  account text,
  billing text check (billing in ('plan', 'metered')),
  models text[] not null default '{}',
  requests bigint not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cache_read_tokens bigint not null default 0,
  -- List price; null: nobody knows any of it.
  cost_usd double precision,
  -- Requests that are not in cost_usd.
  unpriced_requests bigint not null default 0,
  began_at timestamptz not null default clock_timestamp(),
  said_at timestamptz not null default clock_timestamp(),
  primary key (dispatch, since_epoch)
);
create index dispatch_usage_task on dispatch_usage (task);

-- What was said before there was this table.
insert into dispatch_usage (dispatch, since_epoch, task, member, requests, input_tokens, output_tokens, cost_usd, began_at, said_at)
select d.id, greatest(j.epoch, 1), d.task, d.pins->>'member', (u->>'requests')::bigint, (u->>'input_tokens')::bigint,
  (u->>'output_tokens')::bigint, (u->>'cost_usd')::float8, d.opened_at, coalesce(d.closed_at, d.opened_at)
from dispatch d join job j on j.id = d.id, jsonb_extract_path(j.result, 'usage') u
where jsonb_typeof(u) = 'object' and u ? 'requests' and u ? 'input_tokens' and u ? 'output_tokens';

grant select, insert, update on dispatch_usage to {{app}};
`,
};
