import type { Migration } from '#store';

/** The lease queue. It knows kinds and scopes, no domain. */
export const queueMigration: Migration = {
  order: 3,
  name: 'jobs-queue',
  up: `
create table job (
  id uuid primary key,
  -- Age: commit order is not id order, but within one queue it is fair enough and never equal (D26).
  seq bigint generated always as identity,
  kind text not null,
  -- What is locked before the job: a Task, for kinds that have one (H12). Never changes.
  scope text,
  pool text not null,
  labels text[] not null default '{}',
  -- Everything a claimer must match, as one text: the claim reads the head of each class it may take.
  class text not null,
  priority integer not null default 0,
  -- Start-time fair queueing: the job's turn, fixed when it was queued. Priority, turn, age.
  fairness_key text not null,
  turn double precision not null default 0,
  -- Limits that count it while it is leased, by name of quota; its account among them.
  limits text[] not null default '{}',
  account text,
  state text not null check (state in ('queued', 'held', 'leased', 'done', 'dead', 'cancelled')),
  phase text check (phase in ('preparing', 'started', 'capturing', 'uploading')),
  -- Number of the last lease; never reset (A12.2).
  epoch bigint not null default 0,
  -- The last lease's; they stay after its end.
  lease_id uuid,
  holder text,
  boot uuid,
  lease_expires_at timestamptz,
  -- Last sign of life of the session, in farm time (D6).
  activity_at timestamptz,
  available_at timestamptz not null,
  -- First start of all its leases.
  started_at timestamptz,
  start_attempts integer not null default 0,
  tries integer not null default 0,
  -- Workers that can not run it (H11).
  excluded text[] not null default '{}',
  prefer text,
  prefer_until timestamptz,
  -- Farm time, so that an outage of ours ends nothing (H3).
  deadline timestamptz,
  -- Wanted end of a leased job, told by the beat's reply (A12.15).
  end_kind text check (end_kind in ('cancel', 'pause')),
  end_reason text,
  payload jsonb not null default '{}',
  session_ref text,
  result jsonb,
  note text,
  created_at timestamptz not null default clock_timestamp(),
  settled_at timestamptz,
  check ((state = 'leased') = (lease_expires_at is not null))
) with (fillfactor = 70);
create index job_turn on job (class, priority desc, turn, seq) where state = 'queued';
-- Few rows: also what limits are counted from and what the sweep reads.
create index job_leased on job (lease_expires_at) where state = 'leased';
create index job_deadline on job (deadline) where deadline is not null and state in ('queued', 'held');
create index job_excluded on job (class) where state = 'queued' and excluded <> '{}';
create index job_scope on job (scope, seq) where scope is not null;
create index job_age on job (seq);
-- What people look for among many that are done.
create index job_set_aside on job (state, seq) where state in ('held', 'dead');

-- Every lease there ever was: idempotency of claims and ends, the pack's road, the history of a job.
create table lease (
  -- No foreign key: jobs are never deleted, and its check would cost each claim a query of its own.
  job uuid not null,
  epoch bigint not null,
  lease_id uuid not null,
  worker text not null,
  boot uuid not null,
  request_id uuid not null,
  n integer not null,
  granted_at timestamptz not null,
  -- Null: the reply of the claim was lost, and the lease goes back uncounted (H7).
  first_beat_at timestamptz,
  last_beat_at timestamptz,
  beats integer not null default 0,
  -- Under (job, epoch): a late one can not overwrite the next holder's (A12.21).
  progress jsonb,
  ended_at timestamptz,
  ended_how text check (ended_how in ('done', 'cancelled', 'failed', 'lost', 'requeued', 'closed')),
  -- What its holder ended it with and was answered: the same again gets the same answer (A12.9, D13).
  ended_hash bytea,
  answer jsonb,
  primary key (job, epoch),
  -- One claim request leases once, however often it is sent (H7, D12).
  unique (worker, boot, request_id, n)
) with (fillfactor = 80);

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

-- By name: \`key:<pool>:<key>\` its next turn and weight, \`pool:<pool>\` how far turns have come there (virtual time), and limits
-- (\`global\`, \`worker:<id>\`, \`account:<x>\`, \`workflow:<id>\`, \`limit:<x>\`) with a max or a pause.
create table quota (
  name text primary key,
  weight double precision not null default 1 check (weight > 0),
  turn double precision not null default 0,
  max integer,
  paused_until timestamptz,
  paused_reason text
) with (fillfactor = 50);
create index quota_set on quota (name) where max is not null or paused_until is not null;

-- Classes of queued work: few, read whole by each claim; one that is missing is put back by the sweep.
create table job_class (
  class text primary key,
  kind text not null,
  pool text not null,
  labels text[] not null,
  account text,
  limits text[] not null,
  made_at timestamptz not null default clock_timestamp()
);

create table repository (
  id uuid primary key,
  name text not null unique,
  url text not null,
  default_branch text,
  settings jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp()
);

grant select, insert, update on job, lease, signal to {{app}};
grant select, insert, update, delete on quota, job_class, repository to {{app}};
`,
};
