import type { Migration } from '#store';

/** Who calls, what is offered and given, what was done. */
export const identityMigration: Migration = {
  order: 2,
  name: 'gate-identity',
  up: `
create table principal (
  id text primary key,
  kind text not null check (kind in ('person', 'worker', 'agent')),
  name text not null,
  -- Persons only; the gate's later floor gives more than one admin.
  role text check (role in ('viewer', 'operator', 'admin')),
  -- Raw Ed25519, base64url. Unique: enrolment is idempotent per key (H36).
  public_key text unique,
  disabled_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  check ((kind = 'person') = (role is not null))
);

create table worker (
  id text primary key references principal,
  -- Fixed at enrolment (H26).
  pool text not null,
  project text,
  labels text[] not null,
  slot_ceiling integer not null,
  -- Said by its beats; it may only drop labels and slots. Null: it has said nothing yet.
  announced_labels text[],
  slots integer,
  busy integer not null default 0,
  accounts jsonb not null default '[]',
  versions jsonb not null default '{}',
  load double precision,
  host text,
  -- The one boot that holds the identity, until it says goodbye or is silent for a lease time (D16). Farm time.
  boot uuid,
  seen_at timestamptz,
  -- Wall time of the same, for people: farm time stands still when nobody is left to answer (D25).
  seen_wall_at timestamptz,
  goodbye_at timestamptz,
  -- Ruled by people.
  paused_at timestamptz,
  draining_at timestamptz,
  note text,
  -- Ruled by the farm: several environment failures in a row over different scopes (H11).
  environment_failures jsonb not null default '[]',
  quarantined_at timestamptz,
  quarantine_reason text
);

create table operation_settings (
  target text not null,
  owner text not null check (owner in ('config', 'user')),
  offered boolean not null,
  changed_at timestamptz not null default clock_timestamp(),
  primary key (target, owner)
);

create table agent_grant (
  agent text not null references principal,
  target text not null,
  granted_by text not null,
  granted_at timestamptz not null default clock_timestamp(),
  primary key (agent, target)
);

-- Single-use secrets for one purpose, by hash only.
create table ticket (
  hash bytea primary key,
  kind text not null check (kind in ('join', 'login', 'confirm', 'approve')),
  principal text,
  bound_to jsonb not null,
  generation bigint not null default 0,
  expires_at timestamptz not null,
  used_at timestamptz,
  -- A join ticket belongs to the first public key that shows it (D16).
  used_by text
);

create table audit (
  seq bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  kind text not null,
  door text not null,
  class text not null,
  actor text,
  agent_id text,
  input_hash bytea,
  hash_key_id text,
  outcome text not null,
  job_id uuid,
  epoch bigint,
  -- Calls that the row stands for: beats of one lease (A7.9).
  calls integer not null default 1
);
create index audit_job on audit (job_id, epoch) where job_id is not null;

grant select, insert, update on principal, worker to {{app}};
grant select, insert, update, delete on operation_settings, agent_grant, ticket to {{app}};
-- Append only, by privilege.
grant select, insert on audit to {{app}};
`,
};
