import type { Migration } from '#store';

/** Branches that the farm pushes: what is meant is written before anything goes out, so that no end of a push is forgotten (A12.22). */
export const pushesMigration: Migration = {
  order: 8,
  name: 'teams-pushes',
  up: `
create table task_push (
  task text not null references task,
  commit text not null,
  repository uuid not null,
  branch text not null,
  -- waiting: for a person's approval. pending: begun, and its end is not known yet. moved: somebody else's commits stand there.
  state text not null check (state in ('waiting', 'pending', 'pushed', 'moved')),
  -- What a person is asked to approve, and who did (H39).
  approval text,
  approved_by text,
  asked_by text not null,
  pull_request jsonb,
  asked_at timestamptz not null default clock_timestamp(),
  settled_at timestamptz,
  -- One effect per commit and branch of a Task, however often and by whom it is asked for.
  primary key (task, commit)
);
grant select, insert, update on task_push to {{app}};
`,
};
