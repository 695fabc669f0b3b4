import { limits } from '#contracts';
import { isMergedInto, isSmallTree } from '#git';
import type { JobRow } from '#jobs';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import type { AssignmentRow, DispatchRow, KeptResult } from '../rows.js';
import { teamWorkSql, type UnmergedBranch } from '../sql/team-work.js';
import { rescueSql } from '../sql/teams.js';
import { storeOf } from '../task/task-store.js';

/** What an end brings beside the captured commit. */
export interface BroughtWork {
  /** Branches that the member has merged by hand. */
  readonly merged: readonly UnmergedBranch[];
  /** The member's notes; null where there are none, or none that others could be given. */
  readonly notes: string | null;
}

/** Git, outside any transaction, and safe to repeat. */
export async function lookAtBroughtWork(
  parts: TeamParts,
  job: JobRow,
  dispatch: DispatchRow,
  { result, commit }: { readonly result: KeptResult; readonly commit: string | null },
): Promise<BroughtWork> {
  const { own_commits: own, notes } = result;
  return {
    merged: own === undefined || commit === null ? [] : await mergedBranches(parts, dispatch, own),
    notes: notes === undefined ? null : await smallNotes(parts, job, dispatch, notes),
  };
}

/** By the agent's own history: the captured commit has the base as its sole parent and says nothing of merges. */
async function mergedBranches(
  parts: TeamParts,
  dispatch: DispatchRow,
  own: string,
): Promise<readonly UnmergedBranch[]> {
  const asked = { assignment: dispatch.assignment, limit: limits.unmergedBranches };
  const branches = await parts.database.all(teamWorkSql.unmerged, asked);
  if (branches.length === 0) return [];
  const store = await storeOf(parts, dispatch.task);
  const merged: UnmergedBranch[] = [];
  for (const branch of branches) if (await isMergedInto(store, branch.commit, own)) merged.push(branch);
  return merged;
}

/** Notes are advice: what did not arrive, or is too much for everybody's workspace, ends no work. */
async function smallNotes(
  parts: TeamParts,
  job: JobRow,
  dispatch: DispatchRow,
  commit: string,
): Promise<string | null> {
  const arrived = await parts.database.first(rescueSql.arrived, { job: job.id, epoch: job.epoch, commit });
  if (!arrived) return null;
  const most = { files: limits.noteFiles, bytes: limits.notesBytes };
  return (await isSmallTree(await storeOf(parts, dispatch.task), commit, most)) ? commit : null;
}

/** In the transaction of the end, before its successors open. */
export function acceptBroughtWork(
  tx: Transaction,
  job: JobRow,
  assignment: AssignmentRow,
  { result, brought }: { readonly result: KeptResult; readonly brought: BroughtWork },
): void {
  for (const { wave, position } of brought.merged)
    tx.later(teamWorkSql.resolve, { wave, position, assignment: assignment.id });
  if (brought.notes !== null) tx.later(teamWorkSql.setNotes, { assignment: assignment.id, notes: brought.notes });
  if (result.notes !== undefined) tx.later(rescueSql.accepted, { job: job.id, epoch: job.epoch, commit: result.notes });
}
