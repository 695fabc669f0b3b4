import { FarmError } from '#contracts';
import { emptyBase, importBundle } from '#git';
import type { TeamParts } from '../parts.js';
import type { TaskRow } from '../rows.js';
import { taskSql } from '../sql.js';
import { eachTask } from './each-task.js';
import { lockTask } from './lock-task.js';
import { openTeam } from './open-team.js';
import { pauseTask } from './pause-task.js';
import { sourceName, storeOf } from './task-store.js';

const batch = 16;

/**
 * Carries on Tasks whose source is not ready: any controller, one at a time per Task, from wherever the last one died (D19).
 * Answers the Tasks that it moved.
 */
export async function prepareTasks(parts: TeamParts): Promise<readonly string[]> {
  const preparing = await parts.database.all(taskSql.preparing, { limit: batch });
  return eachTask(
    parts,
    preparing.map(({ id }) => id),
    (id) => prepareTask(parts, id),
  );
}

/** False: another controller is at it, or there is nothing left to do. */
function prepareTask(parts: TeamParts, id: string): Promise<boolean> {
  return parts.database.session(async (session) => {
    const lock = await session.first(taskSql.tryPreparing, { task: id });
    if (lock?.mine !== true) return false;
    const task = await session.first(taskSql.read, { task: id });
    if (task?.status !== 'preparing') return false;
    const source = await takeSource(parts, task);
    return 'base' in source ? begin(parts, id, source.base) : giveUp(parts, id, source.refused);
  });
}

type Source = { readonly base: string } | { readonly refused: FarmError };

/** Git and disk, outside any transaction, safe to repeat. A fault of the farm is thrown: the next sweep tries again. */
async function takeSource(parts: TeamParts, task: TaskRow): Promise<Source> {
  try {
    const store = await storeOf(parts, task.id);
    if (task.source.kind === 'empty') return { base: await emptyBase(store) };
    const name = sourceName(task.started_by, task.source.sha256);
    if ((await parts.objects.size(name)) === undefined)
      throw unavailable('The uploaded checkout is not there any more.');
    const { head } = await importBundle(store, parts.objects.path(name), { limits: parts.gitLimits ?? {} });
    if (head !== task.source.commit)
      throw unavailable('The uploaded checkout holds another commit than the Task names.');
    return { base: head };
  } catch (error) {
    if (error instanceof FarmError && lasting.has(error.code)) return { refused: error };
    throw error;
  }
}

const lasting = new Set(['source_refused', 'source_unavailable', 'disk_full', 'timeout', 'too_large']);
const unavailable = (detail: string): FarmError => new FarmError('source_unavailable', detail);

/** Base, team, root Assignment, root Dispatch and job in one transaction (I25). */
function begin(parts: TeamParts, id: string, base: string): Promise<boolean> {
  return parts.database.transaction(async (tx) => {
    const task = await lockTask(tx, id);
    // A cancel may have come while git worked.
    if (task.status !== 'preparing') return false;
    await openTeam(parts, tx, task, base);
    return true;
  });
}

function giveUp(parts: TeamParts, id: string, why: FarmError): Promise<boolean> {
  return parts.database.transaction(async (tx) => {
    const task = await lockTask(tx, id);
    if (task.status !== 'preparing') return false;
    await pauseTask(parts, tx, task, {
      reason: 'source_unavailable',
      detail: why.hint === undefined ? why.detail : `${why.detail} ${why.hint}`,
      attention: 'source_unavailable',
    });
    return true;
  });
}
