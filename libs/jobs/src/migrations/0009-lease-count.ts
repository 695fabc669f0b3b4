import type { Migration } from '#store';

/** Leases of one machine are counted by each of its claims (H26); those that are due are few among all that are leased. */
export const leaseCountMigration: Migration = {
  order: 9,
  name: 'jobs-lease-count',
  up: `
create index job_held on job (holder) where state = 'leased';
drop index job_leased;
`,
};
