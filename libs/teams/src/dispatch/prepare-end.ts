import { type DispatchEnded, DispatchResult, FarmError } from '#contracts';
import { diffStat, treeHas } from '#git';
import type { JobEnd, JobRow } from '#jobs';
import type { NamedFile } from '../handover/handover-rule.js';
import { ruleOf } from '../handover/handover-rules.js';
import { findHandover, type KeptHandover, saidBy, voidHandover } from '../handover/kept-handover.js';
import { asRefusal } from '../handover/refusal.js';
import type { TeamParts } from '../parts.js';
import type { DispatchRow, KeptResult } from '../rows.js';
import { assignmentSql, dispatchSql, rescueSql, taskSql } from '../sql/teams.js';
import { storeOf } from '../task/task-store.js';
import { type BroughtWork, lookAtBroughtWork } from './team-work.js';

/** What was found outside the transaction. Whatever rows say is asked again inside. */
export interface PreparedEnd {
  readonly result: KeptResult;
  /** Null where nothing changed (D7). */
  readonly commit: string | null;
  readonly brought: BroughtWork;
  readonly handover?: { readonly key: string; readonly kept: KeptHandover; readonly callId: string };
}

/**
 * Git and disk of an end, safe to repeat: the captured commit came under this very lease and was judged when it came (H5, D20),
 * and the files that the handover names stand in its tree. A handover that no longer holds is refused here, by name, and leaves
 * its place to the next (D1).
 *
 * @throws invalid_input, commit_refused, handover_refused, conflict
 */
export async function prepareEnd(parts: TeamParts, job: JobRow, end: JobEnd): Promise<PreparedEnd | undefined> {
  // Settled before: the queue answers the same again (D13), nothing is to be prepared.
  if (job.state !== 'leased') return undefined;
  const result = readResult(end.result);
  const [dispatch, slot] = await Promise.all([
    parts.database.first(dispatchSql.read, { id: job.id }),
    findHandover(parts.database, job.id, job.epoch),
  ]);
  if (!dispatch) throw new FarmError('not_found', 'There is no such Dispatch.');
  const commit = await changedCommit(parts, job, dispatch, result.commit);
  const brought = await lookAtBroughtWork(parts, job, dispatch, { result, commit });
  // Cancelled: the work is kept, whatever was handed over (D9).
  if (job.end_kind === 'cancel') return { result, commit, brought };
  if (end.ended !== 'handover') {
    refuseForgottenHandover(end.ended, slot.kept);
    return { result, commit, brought };
  }
  const callId = result.handover?.call_id;
  if (callId === undefined || !slot.kept || !(await saidBy(parts.database, job.id, callId, slot.kept))) {
    throw new FarmError('handover_refused', 'No handover of this lease was kept under that call.', {
      hint: 'Go on with the session: it hands over again, or ends silent.',
    });
  }
  const handover = { key: slot.key, kept: slot.kept, callId };
  await checkEarly(parts, job, dispatch, { commit, handover });
  return { result, commit, brought, handover };
}

const unsaid: ReadonlySet<string> = new Set<DispatchEnded>(['silent', 'crashed']);

/** D6: a kept handover never ends silent. */
function refuseForgottenHandover(ended: string, kept: KeptHandover | undefined): void {
  if (!kept || !unsaid.has(ended)) return;
  throw new FarmError('conflict', 'This Dispatch has handed over: it ends with that handover.', {
    hint: 'Complete it with `ended: handover` and the call id of the handover.',
  });
}

function readResult(result: unknown): KeptResult {
  const read = DispatchResult.safeParse(result);
  if (read.success) return read.data;
  const fields = read.error.issues.map((issue) => ({
    path: `/result/${issue.path.map(String).join('/')}`,
    rule: issue.code,
  }));
  throw new FarmError('invalid_input', 'The result is not one of a Dispatch.', { fields });
}

/** The commit of an end, which has come under this very lease; null where it changes nothing (D7). @throws commit_refused */
export async function changedCommit(
  parts: TeamParts,
  job: JobRow,
  dispatch: Pick<DispatchRow, 'task' | 'base'>,
  commit: string | undefined,
): Promise<string | null> {
  if (commit === undefined) return null;
  const arrived = await parts.database.first(rescueSql.arrived, { job: job.id, epoch: job.epoch, commit });
  if (!arrived) {
    throw new FarmError('commit_refused', 'This commit has not arrived under this lease.', {
      hint: 'Upload its pack first.',
    });
  }
  const store = await storeOf(parts, dispatch.task);
  const { total } = await diffStat(store, dispatch.base, commit, { most: 0 });
  return total === 0 ? null : commit;
}

interface Offered {
  readonly commit: string | null;
  readonly handover: NonNullable<PreparedEnd['handover']>;
}

async function checkEarly(
  parts: TeamParts,
  job: JobRow,
  dispatch: DispatchRow,
  { commit, handover }: Offered,
): Promise<void> {
  try {
    const rule = ruleOf(handover.kept.body);
    await requireFiles(parts, dispatch, commit, rule.files);
    const [task, assignment] = await Promise.all([
      parts.database.first(taskSql.read, { task: dispatch.task }),
      parts.database.first(assignmentSql.read, { id: dispatch.assignment }),
    ]);
    if (task && assignment) {
      await rule.check(parts.database, { task, assignment, dispatch });
    }
  } catch (error) {
    if (!(error instanceof FarmError)) throw error;
    await parts.database.transaction((tx) => voidHandover(tx, job.id, handover.key));
    throw asRefusal(error);
  }
}

/** I22, H21: regular files of the captured tree, with no symbolic link on the way. */
async function requireFiles(
  parts: TeamParts,
  dispatch: DispatchRow,
  commit: string | null,
  files: readonly NamedFile[],
): Promise<void> {
  if (files.length === 0) return;
  const store = await storeOf(parts, dispatch.task);
  for (const { path, at, is = 'regular' } of files) {
    const kind = await treeHas(store, commit ?? dispatch.base, path);
    if (kind === is) continue;
    throw new FarmError('invalid_task_path', `A ${asked[is]} that the handover names ${explain[kind]}.`, {
      fields: [{ path: at, rule: kind }],
      hint: `Name ${hints[is]} of the workspace by their relative path.`,
    });
  }
}

const explain = {
  missing: 'is not in the captured work',
  symlink: 'is a symbolic link',
  directory: 'is a directory',
  regular: 'is a file',
} as const;

const asked = { regular: 'file', directory: 'folder' } as const;
const hints = { regular: 'regular files', directory: 'folders that hold a file which is not ignored,' } as const;
