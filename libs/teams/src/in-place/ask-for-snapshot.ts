import { newId, SnapshotPayload } from '#contracts';
import { emptyBase } from '#git';
import { taskDirectory } from '../dispatch/picture.js';
import type { TeamParts } from '../parts.js';
import { snapshotSql } from '../sql/snapshot.js';
import { lockTask } from '../task/lock-task.js';
import { storeOf } from '../task/task-store.js';
import { inPlaceOf, keepAlone, limitsOf } from './in-place.js';

/**
 * Has the machine of a Task in place bring its folder as it is: that is the base, which the Result is shown against. Answers false:
 * the Task goes on when it has come.
 */
export async function askForSnapshot(parts: TeamParts, id: string): Promise<false> {
  const base = await emptyBase(await storeOf(parts, id));
  await parts.database.transaction(async (tx) => {
    const task = await lockTask(tx, id);
    if (task.status !== 'preparing' || (await tx.first(snapshotSql.standing, { task: id }))) return;
    await keepAlone(parts, tx, task);
    await parts.queue().submit(tx, {
      id: newId(),
      kind: 'snapshot',
      scope: id,
      payload: SnapshotPayload.parse({
        task_id: id,
        title: task.title,
        base,
        task_directory: taskDirectory(id),
        ...inPlaceOf(task),
      }),
      pool: task.settings.pool,
      labels: task.settings.labels,
      priority: task.settings.priority,
      limits: limitsOf(task),
    });
  });
  return false;
}
