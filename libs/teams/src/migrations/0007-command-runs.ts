import type { Migration } from '#store';

/** Command Runs get their worker: where they run, what they came to, and the farm's own ones that verify a Task. */
export const commandRunsMigration: Migration = {
  order: 7,
  name: 'teams-command-runs',
  up: `
alter table command_run
  add column purpose text not null default 'member' check (purpose in ('member', 'verify')),
  -- Commit that it runs on.
  add column base text,
  -- The lease under which it was started: its output stands there and nowhere else (H17).
  add column epoch bigint,
  -- Machines that lost it before it was started (D15).
  add column losses integer not null default 0,
  add column tail text not null default '',
  add column detail text,
  add column isolation jsonb;
create index command_run_task on command_run (task);
-- One verification per Task, whoever completes the root and how often.
create unique index command_run_verify on command_run (task) where purpose = 'verify';
`,
};
