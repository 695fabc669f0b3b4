import type { Migration } from '#store';

/** Drafts of workflows, and what undoes the last change of each. The columns draft and draft_etag of `workflow` stay unused. */
export const workflowDraftsMigration: Migration = {
  order: 23,
  name: 'teams-workflow-drafts',
  up: `
create table workflow_draft (
  draft_id text primary key,
  workflow text not null unique references workflow,
  content jsonb not null,
  -- What was published when it was begun; null: nothing.
  base_revision_no integer,
  etag text not null,
  next_member_sequence integer not null check (next_member_sequence >= 1),
  members integer not null,
  updated_at timestamptz not null default clock_timestamp()
);
create table workflow_undo (
  receipt_id text primary key,
  draft text not null unique references workflow_draft on delete cascade,
  -- The version that it leads back from.
  etag text not null,
  -- The version that it leads back to.
  content jsonb not null
);
grant select, insert, update, delete on workflow_draft, workflow_undo to {{app}};
`,
};
