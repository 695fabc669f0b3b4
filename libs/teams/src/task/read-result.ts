import { DispatchResult, type InputOf, limits, type TaskResult, type TaskUsage, type taskGet } from '#contracts';
import { changedSubmodules, diffStat } from '#git';
import type { Queries } from '#store';
import type { PreparedView } from '../api.js';
import { readVerification } from '../command-run/read-verification.js';
import type { TeamParts } from '../parts.js';
import type { AssignmentRow, TaskRow } from '../rows.js';
import { teamWorkSql } from '../sql/team-work.js';
import { assignmentSql, dispatchSql, taskSql } from '../sql/teams.js';
import { branchOf } from './branch.js';
import { storeOf } from './task-store.js';

const nothingChanged: PreparedView = { files_changed: [], files_changed_total: 0 };

/** What the Task's branch changes against its base, read from git outside any transaction; nothing for who does not ask for it. */
export async function prepareView(
  parts: TeamParts,
  { task_id: id, selection = { kind: 'overview' } }: InputOf<typeof taskGet>,
): Promise<PreparedView> {
  if (selection.kind !== 'overview' && selection.kind !== 'result') return nothingChanged;
  const task = await parts.database.first(taskSql.read, { task: id });
  if (task?.status !== 'completed' || task.root_assignment === null) return nothingChanged;
  const root = await parts.database.first(assignmentSql.read, { id: task.root_assignment });
  if (!root || root.line_head === root.line_base) return nothingChanged;
  const store = await storeOf(parts, id);
  const { files, total } = await diffStat(store, root.line_base, root.line_head, {
    most: limits.filesChanged,
  });
  return {
    files_changed: files.map(({ path, status, additions, deletions, binary }) => ({
      path,
      status,
      additions: binary ? null : additions,
      deletions: binary ? null : deletions,
    })),
    files_changed_total: total,
    ...notesOf(await changedSubmodules(store, root.line_base, root.line_head)),
  };
}

/** What became of submodules that somebody changed: whoever takes the branch must know that their links are no longer in it. */
function notesOf(changed: Awaited<ReturnType<typeof changedSubmodules>>): Pick<PreparedView, 'notes'> {
  if (changed.length === 0) return {};
  const files = changed.filter(({ now }) => now === 'files').map(({ path }) => path);
  const gone = changed.filter(({ now }) => now === 'gone').map(({ path }) => path);
  return {
    notes: [
      ...(files.length === 0
        ? []
        : [
            `Changed in submodules, whose origins the farm does not write: ${files.join(', ')}. The branch holds all their files in place of the link. Commit the changes in the submodule itself, then set the link anew.`,
          ]),
      ...(gone.length === 0 ? [] : [`The link to a submodule was removed: ${gone.join(', ')}.`]),
    ],
  };
}

interface Seen {
  readonly assignments: readonly AssignmentRow[];
  readonly prepared: PreparedView;
  readonly usage: TaskUsage | null;
}

/** I7: the root's accepted checkpoint, read and never copied; a cancelled Task has none. */
export async function readResult(
  parts: TeamParts,
  tx: Queries,
  task: TaskRow,
  { assignments, prepared, usage }: Seen,
): Promise<TaskResult | null> {
  const root = assignments.find((assignment) => assignment.id === task.root_assignment);
  if (task.status !== 'completed' || task.outcome === null || !root) return null;
  const boundary = await tx.first(dispatchSql.boundary, { assignment: root.id });
  if (!boundary) throw new Error('a completed Task without its boundary');
  const said = DispatchResult.parse(boundary.result);
  const changed = root.line_head !== root.line_base;
  // The Task may have completed after git was looked at: its Result does not go out without its files.
  const early = prepared === nothingChanged && changed;
  return {
    outcome: task.outcome,
    ...(await readVerification(tx, task)),
    summary: boundary.summary,
    details: boundary.details,
    files: [...boundary.files],
    branch: changed ? branchOf(task.id) : null,
    commit: changed ? root.line_head : null,
    base: root.line_base,
    unmerged: await readUnmerged(tx, task.id, root.id),
    ...writable(early ? await prepareView(parts, { task_id: task.id }) : prepared),
    usage,
    isolation: said.isolation ?? null,
    completed_at: boundary.recorded_at.toISOString(),
  };
}

const writable = ({ files_changed, notes, ...rest }: PreparedView) => ({
  ...rest,
  files_changed: [...files_changed],
  ...(notes && { notes: [...notes] }),
});

async function readUnmerged(tx: Queries, task: string, root: string): Promise<TaskResult['unmerged']> {
  const rows = await tx.all(teamWorkSql.unmergedOfTask, { task, root, limit: limits.pageMax });
  return rows.map(({ branch, commit, member }) => ({ branch, commit, member_id: member }));
}
