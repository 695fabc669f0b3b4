import type { TeamParts } from '../parts.js';
import { humanRequestSql } from '../sql/human-request.js';
import { eachTask } from '../task/each-task.js';
import { lockTask } from '../task/lock-task.js';
import { resolveRequest } from './resolve-request.js';

const batch = 50;

/** Requests whose time is over end without an answer, also of paused Tasks. Answers the Tasks that they are of. */
export async function expireRequests(parts: TeamParts): Promise<readonly string[]> {
  const due = await parts.database.all(humanRequestSql.due, { limit: batch });
  const tasks = [...new Set(due.map(({ task }) => task))];
  return eachTask(parts, tasks, (id) =>
    parts.database.transaction(async (tx) => {
      const task = await lockTask(tx, id);
      let ended = false;
      for (const { id: request } of due.filter((each) => each.task === id)) {
        const row = await tx.first(humanRequestSql.read, { id: request });
        if (row?.status !== 'open') continue;
        const ending = { kind: 'timed_out' as const, item_responses: [], by: null };
        ended = (await resolveRequest(parts, tx, task, row, ending)) || ended;
      }
      return ended;
    }),
  );
}
