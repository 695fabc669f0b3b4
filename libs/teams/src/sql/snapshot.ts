import { statement } from '#store';

/** Reads `job`, as the team runtime may, and writes none of it. */
export const snapshotSql = {
  /** One at a time for a Task: its lock is held. */
  standing: statement<{ id: string }>(
    'teams.snapshot_standing',
    `select id from job where scope = $task and kind = 'snapshot' and state in ('queued', 'held', 'leased')`,
  ),
  taskOf: statement<{ task: string }>(
    'teams.snapshot_task',
    `select scope as task from job where id = $job and kind = 'snapshot' and scope is not null`,
  ),
} as const;
