import type { Migration } from '#store';

/** What people say to members at work. */
export const steersMigration: Migration = {
  order: 24,
  name: 'teams-steers',
  up: `
create table steer (
  -- One action, one message (I16).
  action_id text primary key,
  task text not null references task,
  member text not null,
  assignment uuid not null references assignment,
  dispatch uuid not null references dispatch,
  -- Of the job's signal.
  seq integer not null,
  message text not null,
  principal text not null,
  -- Null: nobody has said yet what became of it.
  outcome text check (outcome in ('delivered', 'queued', 'uncertain', 'not_running')),
  created_at timestamptz not null default clock_timestamp(),
  settled_at timestamptz,
  unique (dispatch, seq)
);
create index steer_assignment on steer (assignment, created_at);
grant select, insert, update on steer to {{app}};
`,
};
