import { createHash } from 'node:crypto';
import { limits } from '#contracts';
import type { JobFailure, Next } from '#jobs';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import type { TaskRow } from '../rows.js';
import { pauseTask } from '../task/pause-task.js';

/** A Task that works in a folder of one machine, and not in workspaces of its own. */
export function isInPlace(task: Pick<TaskRow, 'source'>): boolean {
  return task.source.kind === 'in_place';
}

/** What a job of such a Task is told. */
export function inPlaceOf({ source }: Pick<TaskRow, 'source'>): { readonly in_place?: { readonly path: string } } {
  return source.kind === 'in_place' ? { in_place: { path: source.path } } : {};
}

/** Limits that a job of the Task counts against; of one in place also its folder's. */
export function limitsOf({ workflow, source }: Pick<TaskRow, 'workflow' | 'source'>): readonly string[] {
  return [`workflow:${workflow}`, ...(source.kind === 'in_place' ? [folderLimit(source)] : [])];
}

function folderLimit({ host, path }: { readonly host: string; readonly path: string }): string {
  return `folder:${createHash('sha256')
    .update(JSON.stringify([host, path]))
    .digest('hex')
    .slice(0, 24)}`;
}

/** Whoever works in a folder has it alone, of all members and all Tasks: there is nothing to merge (H27). */
export async function keepAlone(parts: TeamParts, tx: Transaction, { source }: TaskRow): Promise<void> {
  if (source.kind === 'in_place') await parts.queue().setLimit(tx, folderLimit(source), 1);
}

/** The machine refused the folder: the Task waits until its owner, or whoever started it, has seen to it. The caller holds its lock. */
export async function awaitFolder(
  parts: TeamParts,
  tx: Transaction,
  task: TaskRow,
  { detail = 'The folder can not be worked in.' }: Pick<JobFailure, 'detail'>,
): Promise<Next> {
  if (task.status === 'running' || task.status === 'preparing')
    await pauseTask(parts, tx, task, {
      reason: 'workspace_unavailable',
      detail: detail.slice(0, limits.failDetailBytes),
      attention: 'workspace_unavailable',
    });
  return { next: 'hold', note: 'workspace_unavailable' };
}
