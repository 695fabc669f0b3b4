import { pauseIfStuck } from '../dispatch/exhaust-lane.js';
import type { TeamParts } from '../parts.js';
import { assignmentSql } from '../sql/teams.js';
import { eachTask } from './each-task.js';
import { lockTask } from './lock-task.js';
import { openLane } from './resume-task.js';

const batch = 50;

/**
 * D4, tested again from rows: a running Task none of whose lanes can go on pauses; a lane that ended while the Task was paused or
 * resumed, and that nobody opened, is opened. Answers the Tasks that it changed.
 */
export async function retestLanes(parts: TeamParts): Promise<readonly string[]> {
  const stuck = await parts.database.all(assignmentSql.stuckTasks, { limit: batch });
  return eachTask(
    parts,
    stuck.map(({ task }) => task),
    (task) => retest(parts, task),
  );
}

function retest(parts: TeamParts, id: string): Promise<boolean> {
  return parts.database.transaction(async (tx) => {
    const task = await lockTask(tx, id);
    if (task.status !== 'running') return false;
    const lanes = await tx.all(assignmentSql.lanesToOpen, { task: id });
    const toOpen = lanes.filter((lane) => lane.closed_reason !== 'control_failed');
    for (const lane of toOpen) await openLane(parts, tx, task, lane, lane.closed_reason);
    return (await pauseIfStuck(parts, tx, task)) || toOpen.length > 0;
  });
}
