import type { Migration } from '#store';

/** Why a machine takes no new work, as its last beat said. */
export const workerRefusesMigration: Migration = {
  order: 11,
  name: 'gate-worker-refuses',
  up: `
alter table worker add column refuses text;
`,
};
