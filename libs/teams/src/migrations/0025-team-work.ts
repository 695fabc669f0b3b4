import type { Migration } from '#store';

/** Which lines hold a branch that the join left: members merged it there by hand (D22). */
export const teamWorkMigration: Migration = {
  order: 25,
  name: 'teams-team-work',
  up: `
alter table wave_member add column resolved_in uuid[] not null default '{}';
`,
};
