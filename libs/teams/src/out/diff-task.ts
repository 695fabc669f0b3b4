import { type InputOf, limits, type OutputOf, type taskDiff } from '#contracts';
import { diffStat, showDiff } from '#git';
import type { TeamParts } from '../parts.js';
import { storeOf } from '../task/task-store.js';
import { lineOf } from './task-line.js';

const nothing = { text: '', truncated: false, files_changed: 0, additions: 0, deletions: 0 };

/** What the Task's line changes against its base, finished or not; git only, outside any transaction. @throws not_found */
export async function diffTask(parts: TeamParts, input: InputOf<typeof taskDiff>): Promise<OutputOf<typeof taskDiff>> {
  const { task, line } = await lineOf(parts, input.task_id);
  if (!line) return { base: null, commit: null, ...nothing };
  const ends = { base: line.base, commit: line.head };
  if (line.base === line.head) return { ...ends, ...nothing };
  const store = await storeOf(parts, task.id);
  const git = parts.gitLimits ?? {};
  const { total, additions, deletions } = await diffStat(store, line.base, line.head, { most: 0, limits: git });
  const { text, truncated } = await showDiff(store, line.base, line.head, {
    stat: input.stat,
    maxBytes: limits.diffBytes,
    limits: git,
  });
  return { ...ends, text, truncated, files_changed: total, additions, deletions };
}
