import { FarmError, limits, SnapshotResult } from '#contracts';
import { emptyBase } from '#git';
import type { JobEnd, JobRow, Kind } from '#jobs';
import type { Transaction } from '#store';
import { changedCommit } from '../dispatch/prepare-end.js';
import type { TeamParts } from '../parts.js';
import type { TaskRow } from '../rows.js';
import { tellWrongFiles, wrongFiles } from '../source/require-files.js';
import { rescueSql, taskSql } from '../sql/teams.js';
import { lockScope, lockTask } from '../task/lock-task.js';
import { openTeam } from '../task/open-team.js';
import { storeOf } from '../task/task-store.js';
import { awaitFolder } from './in-place.js';

/** The rules of jobs of kind `snapshot`: a machine brings a folder as it is, and the team begins on that (H27, I25). */
export function snapshotKind(parts: TeamParts): Kind {
  return {
    name: 'snapshot',
    lockScope,

    prepare: (job, end) => (job.state === 'leased' ? prepareSnapshot(parts, job, end) : Promise.resolve(undefined)),

    async onComplete(tx, job, end) {
      const task = await taskOf(tx, job);
      const { base, commit, trouble } = asPrepared(end.prepared);
      // A cancel may have come while the folder was read.
      if (task.status !== 'preparing') return { kept: false };
      if (commit !== null) tx.later(rescueSql.accepted, { job: job.id, epoch: job.epoch, commit });
      if (trouble === undefined) await openTeam(parts, tx, task, commit ?? base);
      else await awaitFolder(parts, tx, task, { detail: trouble });
      return { kept: trouble === undefined };
    },

    async onFail(tx, job, failure) {
      const task = await taskOf(tx, job);
      if (failure.retryable && !failure.exhausted)
        return { next: 'queue', afterMs: limits.beatRetryMs, note: failure.reason };
      await awaitFolder(parts, tx, task, failure);
      // Resume asks for another: the folder may be another by then.
      return { next: 'done', note: failure.reason };
    },

    async onLeaseLost() {
      return { next: 'queue', note: 'lease lost' };
    },

    async onCancelled() {},
  };
}

async function taskOf(tx: Transaction, job: Pick<JobRow, 'scope'>): Promise<TaskRow> {
  if (job.scope === null) throw new Error('a snapshot has a Task');
  return lockTask(tx, job.scope);
}

interface PreparedSnapshot {
  readonly base: string;
  /** Null: the folder is empty. */
  readonly commit: string | null;
  /** Why the team can not begin on it. */
  readonly trouble?: string;
}

/** What came, came under this very lease; and it has the files that the Task names. @throws invalid_input, commit_refused */
async function prepareSnapshot(parts: TeamParts, job: JobRow, end: JobEnd): Promise<PreparedSnapshot> {
  const read = SnapshotResult.safeParse(end.result);
  if (!read.success || job.scope === null) throw new FarmError('invalid_input', 'The result is not one of a snapshot.');
  const store = await storeOf(parts, job.scope);
  const base = await emptyBase(store);
  const commit = await changedCommit(parts, job, { task: job.scope, base }, read.data.commit);
  const task = await parts.database.first(taskSql.read, { task: job.scope });
  const wrong = await wrongFiles(store, commit ?? base, task?.settings.files ?? []);
  return { base, commit, ...(wrong.length > 0 && { trouble: tellWrongFiles(wrong) }) };
}

function asPrepared(prepared: unknown): PreparedSnapshot {
  if (isPrepared(prepared)) return prepared;
  throw new FarmError('conflict', 'The lease has moved on while its end was prepared.');
}

function isPrepared(prepared: unknown): prepared is PreparedSnapshot {
  return typeof prepared === 'object' && prepared !== null && 'base' in prepared && 'commit' in prepared;
}
