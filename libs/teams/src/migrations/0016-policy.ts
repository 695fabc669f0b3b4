import type { Migration } from '#store';

/** What an admin lets workflows and Tasks ask for at most. */
export const policyMigration: Migration = {
  order: 16,
  name: 'teams-policy',
  up: `
create table policy (
  one boolean primary key default true check (one),
  rules jsonb not null,
  changed_by text not null,
  changed_at timestamptz not null default clock_timestamp()
);
grant select, insert, update on policy to {{app}};
`,
};
