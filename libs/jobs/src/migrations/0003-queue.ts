import type { Migration } from '#store';

/** The lease queue. It knows kinds and scopes, no domain. */
export const queueMigration: Migration = {
  order: 3,
  name: 'jobs-queue',
  up: `
create table job (
  id uuid primary key,
  -- Age: commit order is not id order, but within one queue it is fair enough and never equal (D26).
  seq bigint generated always as identity unique,
  kind text not null,
  -- What is locked before the job: a Task, for kinds that have one (H12).
  scope text,
  pool text not null,
  labels text[] not null default '{}',
  -- Everything a claimer must match, as one text: the claim reads the head of each class it may take.
  class text not null,
  priority integer not null default 0,
  -- Start-time fair queueing: the job's turn, fixed when it was queued. Priority, turn, age.
  fairness_key text not null,
  turn double precision not null default 0,
  -- Limits that count it while it is leased, by name of quota.
  limits text[] not null default '{}',
  account text,
  state text not null check (state in ('queued', 'held', 'leased', 'done', 'dead', 'cancelled')),
  phase text check (phase in ('preparing', 'started', 'capturing', 'uploading')),
  -- Number of the last lease; never reset (A12.2).
  epoch bigint not null default 0,
  lease_id uuid,
  holder text,
  boot uuid,
  lease_expires_at timestamptz,
  -- Last sign of life of the session, in farm time (D6).
  activity_at timestamptz,
  available_at timestamptz not null,
  started_at timestamptz,
  start_attempts integer not null default 0,
  tries integer not null default 0,
  -- Workers that can not run it (H11).
  excluded text[] not null default '{}',
  prefer text,
  prefer_until timestamptz,
  deadline timestamptz,
  -- Wanted end of a leased job, told by the beat's reply (A12.15).
  end_kind text check (end_kind in ('cancel', 'pause')),
  end_reason text,
  payload jsonb not null default '{}',
  progress jsonb,
  session_ref text,
  result jsonb,
  result_hash bytea,
  note text,
  created_at timestamptz not null default clock_timestamp(),
  settled_at timestamptz,
  check ((state = 'leased') = (lease_expires_at is not null))
) with (fillfactor = 70);
create index job_turn on job (class, priority desc, turn, seq) where state = 'queued';
create index job_later on job (available_at) where state = 'queued';
create index job_leased on job (lease_expires_at) where state = 'leased';
create index job_held_by on job (holder) where state = 'leased';
create index job_scope on job (scope, seq);
create index job_state on job (state, seq);

-- Every lease there ever was: idempotency of claims, the pack's road, the history of a job.
create table lease (
  job uuid not null references job,
  epoch bigint not null,
  lease_id uuid not null,
  worker text not null,
  boot uuid not null,
  request_id uuid not null,
  n integer not null,
  granted_at timestamptz not null,
  first_beat_at timestamptz,
  last_beat_at timestamptz,
  beats integer not null default 0,
  ended_at timestamptz,
  ended_how text,
  primary key (job, epoch),
  -- One claim request leases once, however often it is sent (H7, D12).
  unique (worker, boot, request_id, n)
);

-- What a job's holder is told by its beats: steering, interrupts. By sequence.
create table signal (
  job uuid not null references job,
  seq integer not null,
  kind text not null check (kind in ('steer', 'interrupt')),
  body jsonb not null,
  outcome text,
  created_at timestamptz not null default clock_timestamp(),
  primary key (job, seq)
);

-- One row per fairness key (weight, turn) and per limit (max, in_use).
create table quota (
  name text primary key,
  weight double precision not null default 1 check (weight > 0),
  turn double precision not null default 0,
  max integer,
  paused_until timestamptz,
  paused_reason text
);

-- Classes of queued work: small, read whole by each claim.
create table job_class (
  class text primary key,
  pool text not null,
  labels text[] not null,
  account text
);

create table repository (
  id uuid primary key,
  name text not null unique,
  url text not null,
  default_branch text,
  settings jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp()
);

grant select, insert, update, delete on job, lease, signal, quota, job_class, repository to {{app}};
`,
};
