import type { Migration } from '#store';

/** How much output each lease has stored, so that neither a job nor a machine fills the farm's disk (H17). */
export const outputStoredMigration: Migration = {
  order: 30,
  name: 'teams-output-stored',
  up: `
create table output_stored (
  job uuid not null,
  epoch bigint not null,
  worker text not null,
  -- On which its first segment came (UTC).
  day date not null,
  bytes bigint not null,
  primary key (job, epoch)
) with (fillfactor = 70);
create index output_stored_worker on output_stored (worker, day);
grant select, insert, update on output_stored to {{app}};
`,
};
