import type { Migration } from '#store';

/** The workflow catalogue and the team runtime, whole: later features fill these tables and add none of these columns. */
export const teamsMigration: Migration = {
  order: 4,
  name: 'teams-domain',
  up: `
create table workflow (
  id text primary key,
  -- The published revision; null after removal: revisions stay, Tasks pin them.
  current_revision_no integer,
  draft jsonb,
  draft_etag text,
  updated_at timestamptz not null default clock_timestamp()
);
create table workflow_revision (
  workflow text not null references workflow,
  revision_no integer not null check (revision_no >= 1),
  content jsonb not null,
  content_hash bytea not null,
  provenance text not null check (provenance in ('starter', 'user')),
  -- How many, for lists.
  members integer not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (workflow, revision_no),
  unique (workflow, content_hash, provenance)
);

create table task (
  id text primary key,
  seq bigint generated always as identity unique,
  title text not null,
  workflow text not null,
  revision_no integer not null,
  prompt text not null,
  started_by text not null,
  status text not null check (status in ('preparing', 'running', 'paused', 'completed', 'cancelled')),
  outcome text check (outcome in ('green', 'blocked')),
  -- Rises with each pause, resume and cancel: stale action ids are known by it (I16).
  control_revision integer not null default 0,
  pause_reason text,
  pause_detail text,
  source jsonb not null,
  -- Settings of its jobs and budgets, fixed at the start.
  settings jsonb not null,
  -- Commit that the root line starts from; set when the source is ready.
  base text,
  team_revision uuid,
  root_assignment uuid,
  -- Sequence of the last event; the row's lock makes the sequence gap-free (I19).
  event_seq integer not null default 0,
  event_hash bytea,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  foreign key (workflow, revision_no) references workflow_revision,
  check ((status = 'completed') = (outcome is not null))
);
create index task_preparing on task (id) where status = 'preparing';
create index task_live on task (status, seq);

-- Checkouts that people uploaded and no Task has taken in yet (D19). Bytes lie in the object store.
create table source_upload (
  principal text not null,
  sha256 text not null,
  bytes bigint not null,
  uploaded_at timestamptz not null default clock_timestamp(),
  -- A Task that starts from it touches it, so that the expiry that waits for this row sees a fresh one.
  named_at timestamptz not null default clock_timestamp(),
  primary key (principal, sha256)
);

create table team_revision (
  id uuid primary key,
  task text not null references task,
  sequence integer not null,
  predecessor uuid references team_revision,
  created_by_dispatch uuid,
  unique (task, sequence)
);
-- A configuration is the member's prose, provider and capabilities; a basis is its branch's version (I8, I11).
create table team_member (
  revision uuid not null references team_revision,
  member text not null,
  parent text,
  position integer not null,
  depth integer not null,
  config_id uuid not null,
  basis_id uuid not null,
  configuration jsonb not null,
  origin text not null check (origin in ('authored', 'task_replan')),
  primary key (revision, member)
);

create table assignment (
  id uuid primary key,
  task text not null references task,
  member text not null,
  parent uuid references assignment,
  created_by_dispatch uuid,
  prompt text not null,
  files jsonb not null default '[]',
  plan jsonb,
  plan_revision integer not null default 0,
  children_limit integer not null,
  children_used integer not null default 0,
  retry_limit integer not null,
  retries_used integer not null default 0,
  attempt integer not null default 1,
  recoveries integer not null default 0,
  -- Its branch: a row, moved by compare-and-set in the transaction that accepts.
  line_base text not null,
  line_head text not null,
  notes_head text,
  outcome text check (outcome in ('green', 'blocked')),
  closed_at timestamptz,
  created_at timestamptz not null default clock_timestamp()
);
-- At most one open Assignment per member of a Task: this is what busy means (I2).
create unique index assignment_open on assignment (task, member) where closed_at is null;
create index assignment_task on assignment (task);

create table dispatch (
  -- The job's id: its lease is the Dispatch's.
  id uuid primary key references job,
  task text not null references task,
  assignment uuid not null references assignment,
  attempt integer not null,
  -- The Dispatch or Wave, request, run … that caused it, and why. Null for a root or a child's first.
  caused_by uuid,
  reason text not null check (reason in ('root', 'delegation', 'delegation_wave', 'human_result', 'command_result',
    'watchdog_recovery', 'semantic_retry', 'operator_continue', 'structural_replan')),
  -- What it was rendered from: revision, member, configuration, basis, provider and its settings, capabilities.
  pins jsonb not null,
  -- Rendered once; every epoch gets the same bytes (I6).
  request jsonb not null,
  -- The typed cause, as told in the request; null for the first of an Assignment.
  continuation jsonb,
  base text not null,
  -- The accepted capture that moved the line; null where nothing changed (D7).
  commit text,
  closed_reason text check (closed_reason in ('boundary', 'delegation', 'human_request_wait', 'command_run_wait',
    'watchdog_superseded', 'paused', 'cancelled', 'control_failed', 'structural_replan', 'drained', 'limited', 'machine')),
  opened_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz,
  -- One successor per cause, one root per Assignment (I3, I25).
  unique nulls not distinct (caused_by, assignment)
);
create unique index dispatch_current on dispatch (assignment) where closed_at is null;
create index dispatch_task on dispatch (task);

-- What a Dispatch ended with, at the epoch that said it.
create table handover (
  dispatch uuid primary key references dispatch,
  epoch bigint not null,
  kind text not null check (kind in ('checkpoint', 'delegate', 'replan', 'human_request', 'command_run')),
  call_id uuid,
  body jsonb not null,
  commit text,
  result jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp()
);

create table checkpoint (
  id uuid primary key,
  task text not null references task,
  assignment uuid not null references assignment,
  dispatch uuid not null references dispatch,
  attempt integer not null,
  member text not null,
  config_id uuid not null,
  basis_id uuid not null,
  summary text not null,
  details text,
  files jsonb not null default '[]',
  outcome text check (outcome in ('green', 'blocked', 'retry')),
  recorded_at timestamptz not null default clock_timestamp()
);
create index checkpoint_assignment on checkpoint (assignment, recorded_at);
create index checkpoint_green on checkpoint (task, member, config_id, basis_id) where outcome = 'green';

create table wave (
  id uuid primary key,
  task text not null references task,
  assignment uuid not null references assignment,
  source_dispatch uuid not null unique references dispatch,
  team_revision uuid not null references team_revision,
  status text not null check (status in ('open', 'settled', 'cancelled')),
  created_at timestamptz not null default clock_timestamp()
);
create table wave_member (
  wave uuid not null references wave,
  position integer not null,
  member text not null,
  assignment uuid not null references assignment,
  config_id uuid not null,
  basis_id uuid not null,
  status text not null check (status in ('pending', 'settled', 'cancelled')),
  outcome text check (outcome in ('green', 'blocked')),
  merge jsonb,
  commit text,
  primary key (wave, position),
  unique (assignment)
);

create table human_request (
  id uuid primary key,
  task text not null references task,
  assignment uuid not null references assignment,
  source_dispatch uuid not null unique references dispatch,
  kind text not null check (kind in ('input', 'direction', 'approval', 'review')),
  summary text not null,
  items jsonb not null,
  files jsonb not null default '[]',
  due_at timestamptz,
  default_behavior text,
  status text not null check (status in ('open', 'resolved', 'timed_out', 'cancelled')),
  resolution jsonb,
  opened_at timestamptz not null default clock_timestamp(),
  resolved_at timestamptz
);

create table command_run (
  -- The job's id, like a Dispatch's.
  id uuid primary key references job,
  -- The name that members and people use: c_ and eight characters.
  name text not null unique,
  task text not null references task,
  assignment uuid not null references assignment,
  source_dispatch uuid not null unique references dispatch,
  command jsonb not null,
  cwd text,
  timeout_seconds integer,
  summary text not null,
  state text not null check (state in ('pending_start', 'running', 'cancellation_requested', 'succeeded', 'failed',
    'timed_out', 'cancelled', 'abandoned')),
  exit_code integer,
  failure_code text,
  observed_bytes bigint not null default 0,
  written_bytes bigint not null default 0,
  output_complete boolean not null default false,
  started_at timestamptz,
  due_at timestamptz,
  ended_at timestamptz
);

-- The record: facts of a Task in sequence, chained by hash (I19). Written in the transaction of the fact.
create table task_event (
  task text not null references task,
  seq integer not null,
  type text not null,
  source text not null check (source in ('controller', 'control_api', 'operator', 'node')),
  payload jsonb not null,
  principal text,
  at timestamptz not null default clock_timestamp(),
  hash bytea not null,
  primary key (task, seq)
);

-- Work that arrived and that no accepted row names (H10, D20).
create table rescue (
  job uuid not null,
  epoch bigint not null,
  commit text not null,
  task text not null references task,
  member text not null,
  why text not null,
  kept_at timestamptz not null default clock_timestamp(),
  primary key (job, epoch, commit)
);
create index rescue_task on rescue (task);

create table attention (
  id uuid primary key,
  task text references task,
  job uuid,
  kind text not null,
  summary text not null,
  opened_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz
);
create unique index attention_open on attention (coalesce(task, ''), coalesce(job, '00000000-0000-0000-0000-000000000000'), kind) where closed_at is null;

grant select, insert, update, delete on workflow, workflow_revision, task, source_upload, team_revision, team_member, assignment, dispatch,
  handover, checkpoint, wave, wave_member, human_request, command_run, rescue, attention to {{app}};
-- The record is append only, by privilege.
grant select, insert on task_event to {{app}};
`,
};
