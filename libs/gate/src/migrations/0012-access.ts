import type { Migration } from '#store';

/** What is offered to agents and given to them, who they are, and who changed it. */
export const accessMigration: Migration = {
  order: 12,
  name: 'gate-access',
  up: `
-- Targets are operations by name, and all operations of a plugin as \`plugin:<name>\`.
alter table operation_settings add column changed_by text not null default 'config';

-- Ceilings that the configuration file has lifted from never to off (A3.5).
create table operation_lift (target text primary key);

-- The file that wrote the rows of owner config: an older one writes nothing over a newer one (A3c.7).
create table allowed_file (
  one boolean primary key default true check (one),
  generation bigint not null,
  hash text not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- Every change of what is offered and given, with the value before and after (A3.10).
create table access_change (
  seq bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  kind text not null check (kind in ('exposure', 'lift', 'grant')),
  -- Whose rows: config or user for exposure, the agent for a grant.
  owner text not null,
  target text not null,
  -- Null: there was no row, there is none.
  before boolean,
  after boolean,
  changed_by text not null
);

create table agent (
  id text primary key references principal,
  -- The person that it works for (A1.5).
  owner text not null references principal,
  -- Kinds of jobs, pool, labels and places: fixed when it is made, as a machine's are at enrolment (A12.11, H26).
  scope text[] not null,
  pool text not null,
  labels text[] not null,
  slots integer not null,
  -- SHA-256 of 32 random bytes; null when it is revoked (H41).
  secret_hash bytea,
  secret_made_at timestamptz not null default clock_timestamp(),
  token_at timestamptz,
  revoked_at timestamptz
);

-- What a process remembers of the settings holds as long as this number (A3.12).
create function next_settings_version() returns trigger language plpgsql as
$$begin update farm set settings_version = settings_version + 1; return null; end$$;
create trigger settings_version after insert or update or delete on operation_settings
  for each row execute function next_settings_version();
create trigger settings_version after insert or update or delete on operation_lift
  for each row execute function next_settings_version();

grant select, insert, update, delete on operation_lift to {{app}};
grant select, insert, update on allowed_file, agent to {{app}};
grant select, insert on access_change to {{app}};
`,
};
