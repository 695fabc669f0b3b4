import type { Migration } from '#store';

/** People log in: passwords, sessions, device logins, service tokens. */
export const personsMigration: Migration = {
  order: 17,
  name: 'gate-persons',
  up: `
alter table principal drop constraint principal_kind_check, drop constraint principal_check;
alter table principal
  add constraint principal_kind_check check (kind in ('person', 'worker', 'agent', 'service')),
  add constraint principal_check check ((kind in ('person', 'service')) = (role is not null)),
  -- Goes up when the password, the role or the right to come in changes: what was made under an older number is over.
  add column login_epoch bigint not null default 0;
create unique index principal_person_name on principal (name) where kind = 'person';

create table person_password (
  person text primary key references principal,
  -- PHC string: names its algorithm and parameters.
  hash text not null,
  set_at timestamptz not null default clock_timestamp(),
  -- Made by an admin for the first login, which must choose another.
  setup_until timestamptz
);

create table person_session (
  id text primary key,
  person text not null references principal,
  kind text not null check (kind in ('browser', 'cli')),
  -- SHA-256 of the browser's cookie.
  secret_hash bytea unique,
  -- Of a command line: raw Ed25519, base64url.
  public_key text,
  login_epoch bigint not null,
  client text not null,
  created_at timestamptz not null default clock_timestamp(),
  used_at timestamptz not null default clock_timestamp(),
  idle_seconds integer not null,
  expires_at timestamptz not null,
  check ((kind = 'browser') = (secret_hash is not null)),
  check ((kind = 'cli') = (public_key is not null))
);
create index person_session_person on person_session (person, created_at);

create table device_login (
  -- SHA-256 of the device code.
  hash bytea primary key,
  -- HMAC of the user code, which is short enough to be guessed.
  user_code text not null unique,
  client text not null,
  address text not null,
  public_key text not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  interval_seconds integer not null,
  polled_at timestamptz,
  -- Who decided, what, and under which number of theirs.
  person text references principal,
  login_epoch bigint,
  approved boolean,
  taken_at timestamptz
);
create index device_login_address on device_login (address);

create table service_token (
  id text primary key references principal,
  created_by text not null references principal,
  hash bytea not null unique,
  audience text not null check (audience in ('cli', 'mcp')),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  used_at timestamptz,
  revoked_at timestamptz
);
create index service_token_creator on service_token (created_by);

-- Lost in a crash of PostgreSQL without harm.
create unlogged table login_attempt (
  key text primary key,
  failures integer not null,
  next_at timestamptz not null,
  seen_at timestamptz not null
);

grant select, insert, update, delete on person_password, person_session, device_login, login_attempt to {{app}};
grant select, insert, update on service_token to {{app}};
`,
};
