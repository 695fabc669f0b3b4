import type { Migration } from '#store';

/** Who is told of what happens, what is on its way to them, and the links that answer requests. */
export const webhooksMigration: Migration = {
  order: 27,
  name: 'teams-webhooks',
  up: `
create table webhook (
  id uuid primary key,
  name text not null unique,
  url text not null,
  events text[] not null,
  -- AES-256-GCM under the key file of the data folder, like the credential of a repository.
  secret bytea not null,
  added_by text not null,
  created_at timestamptz not null default clock_timestamp()
);

create table webhook_delivery (
  -- The job's id, and the Webhook-Id of every try.
  id uuid primary key references job,
  webhook uuid not null references webhook on delete cascade,
  -- The body, but for the link: its secret is nowhere in the database.
  message jsonb not null,
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'dead', 'cancelled')),
  -- Wall time, so that an outage of ours takes its course (H16). Null: there is no next try.
  next_at timestamptz default clock_timestamp(),
  last_error text,
  created_at timestamptz not null default clock_timestamp(),
  settled_at timestamptz,
  check ((state = 'waiting') = (next_at is not null))
);
create index webhook_delivery_due on webhook_delivery (next_at) where state = 'waiting';
create index webhook_delivery_settled on webhook_delivery (settled_at) where settled_at is not null;
create index webhook_delivery_of on webhook_delivery (webhook, state, settled_at);

create table request_link (
  -- Of the ticket; nobody can be let in by a copy of this table.
  hash bytea primary key,
  request uuid not null references human_request,
  -- Whose message it went out with: \`webhook:<name>\`.
  given_to text not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index request_link_of on request_link (request);

grant select, insert, update, delete on webhook, webhook_delivery, request_link to {{app}};
`,
};
