import type { Migration } from '#store';

/** What waits for the agent's second look, and what waits for a person. */
export const gateConsentMigration: Migration = {
  order: 14,
  name: 'gate-consent',
  up: `
create index ticket_pending on ticket (principal) where kind = 'confirm';

create table approval (
  id text primary key,
  -- Whose proposal it is, of which call, and what it would change: the very same proposed again waits for the same row.
  caller text not null,
  operation text not null,
  input_hash bytea not null,
  digest bytea not null,
  actor text,
  agent_id text,
  -- The least role of who may decide: the operation's own.
  role text not null,
  summary text not null,
  changes jsonb not null,
  change_count integer not null,
  state text not null default 'pending' check (state in ('pending', 'approved', 'refused', 'used')),
  generation bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  decided_by text,
  decided_at timestamptz,
  check ((state = 'pending') = (decided_at is null))
);
create index approval_of_caller on approval (caller) where state in ('pending', 'approved');
create index approval_state on approval (state, created_at, id);

grant select, insert, update, delete on approval to {{app}};
`,
};
