import type { Migration } from '#store';

/** Registered repositories: the table of the third step gets its owner, its credential and its secrets. */
export const repositoriesMigration: Migration = {
  order: 5,
  name: 'teams-repositories',
  up: `
alter table repository
  add column project text not null default 'default',
  add column credential_kind text not null default 'none' check (credential_kind in ('none', 'token', 'ssh_key')),
  -- AES-256-GCM under the key file of the data folder: a copy of the database opens nothing (H30).
  add column credential bytea,
  add column host_keys text,
  add column added_by text not null default '',
  add column updated_at timestamptz not null default clock_timestamp(),
  add constraint repository_credential check ((credential_kind = 'none') = (credential is null));

create table repository_secret (
  repository uuid not null references repository on delete cascade,
  name text not null,
  sealed bytea not null,
  primary key (repository, name)
);
grant select, insert, update, delete on repository_secret to {{app}};

create index task_repository on task ((source->>'repository')) where status in ('preparing', 'running', 'paused');
`,
};
