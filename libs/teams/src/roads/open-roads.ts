import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import { CommandRunRequest, DispatchRequest, FarmError, limits, newId } from '#contracts';
import { bundleFor, emptyBase, intakePack, patchFor, pin, teamBundleFor } from '#git';
import { sendOutput } from '../command-run/send-output.js';
import { findRun } from '../command-run/view-runs.js';
import { changedLineOf } from '../out/task-line.js';
import type { TeamParts } from '../parts.js';
import type { CommandRunRow } from '../rows.js';
import { readJobSettings } from '../source/job-settings.js';
import { lfsFileOf } from '../source/lfs/task-lfs.js';
import { snapshotSql } from '../sql/snapshot.js';
import { teamWorkSql } from '../sql/team-work.js';
import { assignmentSql, commandRunSql, dispatchSql, rescueSql, sourceSql, taskSql } from '../sql/teams.js';
import { branchOf } from '../task/branch.js';
import { sourceName, storeOf } from '../task/task-store.js';
import { liveLease, requireLive } from './live-lease.js';
import type { FileToSend, LeaseShown, Roads } from './roads.js';
import { takeOutput } from './take-output.js';

export function openRoads(parts: TeamParts): Roads {
  return {
    async request(lease) {
      const { request } = await heldWork(parts, lease);
      if (request === undefined) throw new FarmError('not_available');
      return request;
    },

    async settings(lease) {
      const { task } = await heldWork(parts, lease);
      const row = await parts.database.first(taskSql.read, { task });
      if (!row) throw new FarmError('not_available');
      return readJobSettings(parts, row);
    },

    async bundle(lease, have) {
      const { task, base } = await heldWork(parts, lease);
      const store = await storeOf(parts, task);
      const asked = { have, submodules: true, limits: parts.gitLimits ?? {} };
      return fileToSend(await bundleFor(store, base, asked));
    },

    async team(lease) {
      await requireLive(parts, lease);
      const dispatch = await parts.database.first(dispatchSql.read, { id: lease.job });
      if (!dispatch) throw new FarmError('not_available');
      const { task, assignment, base } = dispatch;
      const [branches, notes] = await Promise.all([
        parts.database.all(teamWorkSql.unmerged, { assignment, limit: limits.unmergedBranches }),
        parts.database.all(teamWorkSql.notes, { task }),
      ]);
      const work = { base, branches, notes };
      return fileToSend(await teamBundleFor(await storeOf(parts, task), work, { limits: parts.gitLimits ?? {} }));
    },

    async lfs(lease, oid) {
      const { task } = await heldWork(parts, lease);
      return fileToSend(await lfsFileOf(parts, task, oid));
    },

    async commandOutput(lease, from) {
      await requireLive(parts, lease);
      const run = await parts.database.first(commandRunSql.before, { dispatch: lease.job });
      if (!run) throw new FarmError('not_available');
      return sendOutput(parts, run, from);
    },

    async runOutput(task, command, from) {
      const run = await findRun(parts.database, { task_id: task, command_id: command });
      return sendOutput(parts, run, from);
    },

    takePack: (lease, commit, body) => takePack(parts, lease, commit, body),
    takeOutput: (lease, segment, body) => takeOutput(parts, lease, segment, body),
    takeSource: (person, sha256, body) => takeSource(parts, person, sha256, body),
    result: (task) => result(parts, task),
    async patch(id) {
      const { task, base, head } = await changedLineOf(parts, id);
      const store = await storeOf(parts, task.id);
      const asked = { base, commit: head, title: task.title, limits: parts.gitLimits ?? {} };
      return fileToSend(await patchFor(store, asked));
    },
  };
}

interface HeldWork {
  readonly task: string;
  readonly base: string;
  /** A snapshot needs none. */
  readonly request?: z.output<typeof DispatchRequest> | z.output<typeof CommandRunRequest>;
}

/** What a lease may read: its own Dispatch or Command Run, and nothing else of any Task (H29). */
async function heldWork(parts: TeamParts, lease: LeaseShown): Promise<HeldWork> {
  await requireLive(parts, lease);
  const dispatch = await parts.database.first(dispatchSql.given, { id: lease.job });
  if (dispatch) return { ...dispatch, request: DispatchRequest.parse(dispatch.request) };
  const run = await parts.database.first(commandRunSql.read, { id: lease.job });
  if (run && run.base !== null) return { task: run.task, base: run.base, request: requestOf(run) };
  return snapshotOf(parts, lease.job);
}

/** What a snapshot stands on: nothing. */
async function snapshotOf(parts: TeamParts, job: string): Promise<{ readonly task: string; readonly base: string }> {
  const found = await parts.database.first(snapshotSql.taskOf, { job });
  if (!found) throw new FarmError('not_available');
  return { task: found.task, base: await emptyBase(await storeOf(parts, found.task)) };
}

function requestOf({ command, cwd, timeout_seconds }: CommandRunRow): z.output<typeof CommandRunRequest> {
  return CommandRunRequest.parse({
    command,
    ...(cwd === null ? {} : { cwd }),
    ...(timeout_seconds === null ? {} : { timeout_seconds }),
  });
}

/** The worker and boot that held this epoch once, whatever came of it (D20). */
async function heldOnce(parts: TeamParts, lease: LeaseShown): Promise<boolean> {
  const past = await parts.queue().pastLease(parts.database, lease.job, lease.epoch);
  return past?.lease_id === lease.lease_id && past.worker === lease.worker;
}

/**
 * Judged in quarantine, pinned write-once under (job, epoch, commit), on disk (H4, H5, D20). The row says that it arrived; while no
 * accepted row names the commit, that row is its rescue (H10). The lease is read again at the end: a pack whose lease ran out on
 * the road is late.
 */
async function takePack(
  parts: TeamParts,
  lease: LeaseShown,
  commit: string,
  body: Readable,
): Promise<'accepted' | 'rescue'> {
  if (!(await heldOnce(parts, lease))) throw new FarmError('stale_lease');
  const work = await workOf(parts, lease.job);
  const inTime = (await liveLease(parts, lease)) !== undefined;
  const store = await storeOf(parts, work.task);
  await intakePack(store, { pack: body, base: work.base, commit, limits: parts.gitLimits ?? {} }).catch(
    (error: unknown) => {
      // What came too late is told so, whatever else is wrong with it (P2).
      throw inTime ? error : new FarmError('stale_lease', 'The lease is over, and the pack is not one to keep.');
    },
  );
  const live = inTime && (await liveLease(parts, lease)) !== undefined;
  await pin(store, { kind: live ? 'accepted' : 'rescue', job: lease.job, epoch: lease.epoch, commit });
  await parts.database.run(rescueSql.add, {
    job: lease.job,
    epoch: lease.epoch,
    commit,
    task: work.task,
    member: work.member,
    why: live ? 'its machine was lost before it reported' : 'it came after its lease had ended',
  });
  return live ? 'accepted' : 'rescue';
}

/** What a pack may stand on: the base of a Dispatch, or of a command of a member; a folder as it is on nothing. */
async function workOf(
  parts: TeamParts,
  job: string,
): Promise<{ readonly task: string; readonly base: string; readonly member: string }> {
  const dispatch = await parts.database.first(dispatchSql.read, { id: job });
  if (dispatch) return { task: dispatch.task, base: dispatch.base, member: dispatch.pins.member };
  const run = await parts.database.first(commandRunSql.read, { id: job });
  if (!run) return { ...(await snapshotOf(parts, job)), member: 'workspace' };
  if (run.purpose !== 'member' || run.base === null) throw new FarmError('not_available');
  return { task: run.task, base: run.base, member: run.member };
}

async function takeSource(parts: TeamParts, person: string, sha256: string, body: Readable): Promise<void> {
  const held = await parts.database.first(sourceSql.held, { principal: person });
  const left = limits.uploadedBytesPerPrincipal - (held?.bytes ?? 0);
  if (left <= 0) {
    throw new FarmError('too_large', 'Your uploads that no Task has taken in are over the quota.', {
      hint: 'They expire an hour after the upload.',
    });
  }
  const name = sourceName(person, sha256);
  // Under a name of its own first: what does not have the hash that it is named by must never stand under it.
  const incoming = `${name}.${newId()}`;
  try {
    const put = await parts.objects.put(incoming, body, { bytes: Math.min(limits.sourceBytes, left) });
    if (put.sha256 !== sha256)
      throw new FarmError('invalid_input', 'The body does not have the sha256 that it is named by.');
    await parts.database.run(sourceSql.add, { principal: person, sha256, bytes: put.bytes });
    await parts.objects.put(name, parts.objects.read(incoming), { bytes: put.bytes });
  } finally {
    await parts.objects.remove(incoming);
  }
}

async function result(parts: TeamParts, id: string): Promise<FileToSend & { branch: string; commit: string }> {
  const task = await parts.database.first(taskSql.read, { task: id });
  if (!task) throw new FarmError('not_found', 'There is no such Task.');
  const root =
    task.root_assignment === null
      ? undefined
      : await parts.database.first(assignmentSql.read, { id: task.root_assignment });
  if (!root || root.line_head === root.line_base)
    throw new FarmError('not_found', 'Nothing was changed: there is no branch.');
  const have = task.source.kind === 'bundle' ? [task.source.head] : [];
  const store = await storeOf(parts, task.id);
  const file = await fileToSend(await bundleFor(store, root.line_head, { have, limits: parts.gitLimits ?? {} }));
  return { ...file, branch: branchOf(task.id), commit: root.line_head };
}

async function fileToSend(path: string): Promise<FileToSend> {
  return { path, size: (await stat(path)).size };
}
