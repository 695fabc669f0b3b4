import type { Migration } from '#store';

/** Command Runs of members: what they changed, and who ended them. */
export const memberRunsMigration: Migration = {
  order: 22,
  name: 'teams-member-runs',
  up: `
alter table command_run
  add column opened_at timestamptz not null default clock_timestamp(),
  -- The accepted capture that moved the line; null where nothing changed (D7).
  add column commit text,
  -- Who asked for its end.
  add column ended_by text;
create index command_run_assignment on command_run (assignment);
create index command_run_waiting on command_run (id) where state = 'pending_start';
`,
};
