import type { Migration } from '#store';

/** So many jobs of one scope are to be had or leased at once; the others await a lane, out of every claim's sight. */
export const lanesMigration: Migration = {
  order: 26,
  name: 'jobs-lanes',
  up: `
alter table job add column awaits_lane boolean not null default false;
alter table job add constraint job_awaits_queued check (not awaits_lane or state = 'queued');
-- What awaits a lane stands in no claimer's way: a claim reads the heads of what it may take and nothing else.
drop index job_turn;
create index job_turn on job (class, priority desc, turn, seq) where state = 'queued' and not awaits_lane;
-- Lanes that a scope uses, and scopes in which something awaits one: few rows each.
create index job_lane on job (awaits_lane, scope) where scope is not null and state in ('queued', 'leased');
`,
};
