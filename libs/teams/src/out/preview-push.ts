import type { InputOf, Preview, taskPush } from '#contracts';
import type { Queries } from '#store';
import { pushSql } from '../sql/teams.js';
import { branchOf } from '../task/branch.js';
import { changedLineOf } from './task-line.js';

/** Which commit would stand at the origin, in place of which of ours. @throws not_found */
export async function previewPush(
  queries: Queries,
  { task_id, pull_request }: InputOf<typeof taskPush>,
): Promise<Preview> {
  const { task, head } = await changedLineOf({ database: queries }, task_id);
  const pushed = (await queries.all(pushSql.ofTask, { task: task.id }))
    .filter(({ state }) => state === 'pushed')
    .sort((a, b) => Number(a.settled_at) - Number(b.settled_at))
    .at(-1);
  const branch = branchOf(task.id);
  return {
    summary: `Pushes ${branch} to its origin${pull_request ? ' and opens a pull request' : ''}`,
    changes: [
      {
        id: branch,
        before: pushed ? { commit: pushed.commit } : null,
        after: { commit: head, ...(pull_request && { pull_request: true }) },
      },
    ],
  };
}
