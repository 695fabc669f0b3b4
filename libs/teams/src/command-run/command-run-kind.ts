import { CommandRunResult, FarmError, limits } from '#contracts';
import type { JobEnd, JobRow, Kind, Next } from '#jobs';
import type { Transaction } from '#store';
import { changedCommit } from '../dispatch/prepare-end.js';
import { awaitFolder } from '../in-place/in-place.js';
import type { TeamParts } from '../parts.js';
import type { CommandRunRow, TaskRow } from '../rows.js';
import { commandRunSql } from '../sql/teams.js';
import { record } from '../task/events.js';
import { lockScope, lockTask } from '../task/lock-task.js';
import { endRun, type RunEnd } from './end-run.js';

/**
 * The rules of jobs of kind `command_run`. `started` is committed before the worker spawns anything, and what has started never
 * goes back into the queue: it ends with its result, or abandoned (H8).
 */
export function commandRunKind(parts: TeamParts): Kind {
  return {
    name: 'command_run',
    once: true,
    lockScope,

    async prepare(job, end) {
      return job.state === 'leased' ? prepareRun(parts, job, end) : undefined;
    },

    async onStarted(tx, job) {
      const { task, run } = await readRun(tx, job);
      if (!(await tx.first(commandRunSql.start, { id: run.id, epoch: job.epoch }))) return;
      record(parts, tx, {
        task: task.id,
        type: 'command_run_started',
        source: 'node',
        payload: {
          command_id: run.name,
          purpose: run.purpose,
          member: run.member,
          epoch: job.epoch,
          worker: job.holder,
        },
      });
    },

    async onComplete(tx, job, end) {
      const { result, commit } = asPrepared(end.prepared);
      await endRun(parts, tx, await readRun(tx, job), { ...endOf(end, result), work: { job, commit } });
      return { kept: true };
    },

    /** The machine could not run it. What has started has an unknown effect, and nobody starts it again. */
    async onFail(tx, job, failure) {
      const found = await readRun(tx, job);
      if (job.started_at !== null) return abandon(parts, tx, found, failure.detail);
      if (failure.reason === 'workspace_unavailable') return awaitFolder(parts, tx, found.task, failure);
      return again(parts, tx, found, {
        retryable: failure.retryable,
        // A worker that drains gives back what it has not begun: no machine has failed.
        counts: failure.reason !== 'job_error',
        detail: failure.detail ?? failure.reason,
      });
    },

    waitsForScope: async (tx, job) => waitsForResume(await readRun(tx, job)),

    async onLeaseLost(tx, job) {
      const found = await readRun(tx, job);
      if (job.started_at !== null) return abandon(parts, tx, found, whileItRan);
      return again(parts, tx, found, { retryable: true, counts: true, detail: 'Its machines were lost.' });
    },

    async onDeadline(tx, job) {
      const end: RunEnd =
        job.started_at === null
          ? { state: 'failed', failureCode: 'command_launch_failed', detail: 'No machine took it in time.' }
          : { state: 'timed_out', failureCode: 'command_timed_out' };
      await endRun(parts, tx, await readRun(tx, job), end);
      return { next: 'done', note: end.state };
    },

    async onCancelled(tx, job, how, end) {
      const found = await readRun(tx, job);
      if (how === 'completed' && end) {
        const { result, commit } = asPrepared(end.prepared);
        return endRun(parts, tx, found, { state: 'cancelled', result, work: { job, commit } });
      }
      // Nobody saw how far it came.
      if (how === 'expired' && job.started_at !== null) return void (await abandon(parts, tx, found, whileItRan));
      await endRun(parts, tx, found, { state: 'cancelled' });
    },

    async onRequeue() {
      throw notAgain();
    },
    async onRedrive() {
      throw notAgain();
    },
  };
}

interface Found {
  readonly task: TaskRow;
  readonly run: CommandRunRow;
}

/** The Task's lock first; the run is read after it. */
async function readRun(tx: Transaction, job: Pick<JobRow, 'id' | 'scope'>): Promise<Found> {
  if (job.scope === null) throw new Error('a Command Run has a Task');
  const [task, run] = await Promise.all([lockTask(tx, job.scope), tx.first(commandRunSql.read, { id: job.id })]);
  if (!run) throw new Error('a job of kind command_run without its row');
  return { task, run };
}

/**
 * D8: no pause is told to a command, and what has not begun waits for Resume all the same; but for the farm's own, which spends
 * nothing of the team.
 */
function waitsForResume({ task, run }: Found): boolean {
  return task.status === 'paused' && run.purpose === 'member';
}

const whileItRan = 'Its machine was lost while it ran.';

interface PreparedRun {
  readonly result: CommandRunResult;
  readonly commit: string | null;
}

/** What a member's command changed came under this very lease; the farm's own changes nothing. @throws invalid_input, commit_refused */
async function prepareRun(parts: TeamParts, job: JobRow, end: JobEnd): Promise<PreparedRun> {
  const result = readResult(end);
  const run = await parts.database.first(commandRunSql.read, { id: job.id });
  if (run?.purpose !== 'member' || run.base === null) return { result, commit: null };
  return { result, commit: await changedCommit(parts, job, { task: run.task, base: run.base }, result.commit) };
}

async function abandon(parts: TeamParts, tx: Transaction, found: Found, detail?: string): Promise<Next> {
  const end: RunEnd = { state: 'abandoned', failureCode: 'command_ownership_lost', ...(detail && { detail }) };
  await endRun(parts, tx, found, end);
  return { next: 'done', note: 'abandoned' };
}

/** Not started: another machine may, but not for ever (D15). */
async function again(
  parts: TeamParts,
  tx: Transaction,
  found: Found,
  { retryable, counts, detail }: { readonly retryable: boolean; readonly counts: boolean; readonly detail: string },
): Promise<Next> {
  const most = limits.commandLaunches;
  const mayGoOn = retryable && (!counts || (await tx.first(commandRunSql.countLoss, { id: found.run.id, most })));
  if (mayGoOn && waitsForResume(found)) return { next: 'hold', note: detail };
  if (mayGoOn) return { next: 'queue', afterMs: limits.beatRetryMs, note: detail };
  await endRun(parts, tx, found, { state: 'failed', failureCode: 'command_launch_failed', detail });
  return { next: 'done', note: 'launch failed' };
}

/** D3: for commands exited, timed_out, cancelled, launch_failed. */
function endOf({ ended }: JobEnd, result: CommandRunResult): RunEnd {
  switch (ended) {
    case 'exited':
      return result.exit_code === 0
        ? { state: 'succeeded', result }
        : { state: 'failed', failureCode: 'command_nonzero_exit', result };
    case 'timed_out':
      return { state: 'timed_out', failureCode: 'command_timed_out', result };
    case 'cancelled':
      return { state: 'cancelled', result };
    case 'launch_failed':
      return { state: 'failed', failureCode: 'command_launch_failed', result };
    default:
      throw new FarmError('invalid_input', 'A Command Run does not end like that.');
  }
}

function readResult({ result }: JobEnd): CommandRunResult {
  const read = CommandRunResult.safeParse(result);
  if (read.success) return read.data;
  const fields = read.error.issues.map((issue) => ({
    path: `/result/${issue.path.map(String).join('/')}`,
    rule: issue.code,
  }));
  throw new FarmError('invalid_input', 'The result is not one of a Command Run.', { fields });
}

function asPrepared(prepared: unknown): PreparedRun {
  if (isPrepared(prepared)) return prepared;
  throw new FarmError('conflict', 'The lease has moved on while its end was prepared.');
}

function isPrepared(prepared: unknown): prepared is PreparedRun {
  return typeof prepared === 'object' && prepared !== null && 'result' in prepared && 'commit' in prepared;
}

function notAgain(): FarmError {
  return new FarmError('not_resumable', 'A command is never run twice.', {
    hint: '`longshore task get` shows what it came to; start the Task again to run it anew.',
  });
}
