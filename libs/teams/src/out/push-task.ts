import { createHash } from 'node:crypto';
import { FarmError, type InputOf, limits, type OutputOf, type PullRequest, type taskPush } from '#contracts';
import {
  listRemote,
  type ObjectStore,
  pushBranch,
  type RemoteCall,
  type ShownDiff,
  showDiff,
  showHistory,
  touchedPaths,
  withRemote,
} from '#git';
import type { TeamParts } from '../parts.js';
import type { PushRow, RepositoryRow, TaskRow } from '../rows.js';
import { scratchOf } from '../source/mirrors.js';
import { keepHostKeys } from '../source/open-remote.js';
import { attentionSql, pushSql } from '../sql/teams.js';
import { branchOf } from '../task/branch.js';
import { record } from '../task/events.js';
import { lockTask } from '../task/lock-task.js';
import { openAttention } from '../task/open-attention.js';
import { storeOf } from '../task/task-store.js';
import { isCiPath } from './ci-paths.js';
import { openOrigin, repositoryOf } from './open-origin.js';
import { openPullRequest } from './open-pull-request.js';
import { changedLineOf } from './task-line.js';

type Wanted = InputOf<typeof taskPush>;
type Answer = OutputOf<typeof taskPush>;

/** Who asks: only a person's approval counts (H39). */
export interface Pusher {
  readonly principal: string;
  readonly isPerson: boolean;
}

interface Outgoing {
  readonly task: TaskRow;
  readonly base: string;
  readonly commit: string;
  readonly branch: string;
  readonly store: ObjectStore;
  readonly row: RepositoryRow;
}

/**
 * Brings a Task's branch to the origin of its repository; outside any transaction, and safe to repeat from wherever it broke off:
 * what is meant is committed before anything goes out, and before anything goes out again the origin is asked what it holds
 * (A12.22). The key of the effect is the Task and its commit.
 *
 * @throws not_found, conflict, not_allowed, source_refused, source_unavailable, timeout
 */
export async function pushTask(parts: TeamParts, pusher: Pusher, wanted: Wanted, signal: AbortSignal): Promise<Answer> {
  const out = await readOutgoing(parts, wanted.task_id);
  const files = (await touchedPaths(out.store, out.base, out.commit, parts.gitLimits)).filter(isCiPath);
  const digest = files.length === 0 ? null : digestOf(out, files);
  const known = await parts.database.first(pushSql.read, { task: out.task.id, commit: out.commit });
  const approver = known !== undefined && known.approval === digest ? known.approved_by : null;
  if (digest !== null && approver === null) {
    const shown = await showChanges(parts, out, files);
    if (!isApproval(pusher, wanted, digest, shown)) {
      await wait(parts, pusher, out, digest);
      return waiting(out, digest, files, shown);
    }
  }
  const approvedBy = digest === null ? null : (approver ?? pusher.principal);
  const already = await deliver(parts, pusher, out, { known, digest, approvedBy, signal });
  const pull_request = wanted.pull_request ? await request(parts, out, wanted, signal) : pullRequestOf(known);
  return { state: 'pushed', branch: out.branch, commit: out.commit, already, approval: null, pull_request };
}

async function readOutgoing(parts: TeamParts, id: string): Promise<Outgoing> {
  const { task, base, head } = await changedLineOf(parts, id);
  if (task.status !== 'completed') {
    throw new FarmError('conflict', 'The Task has no Result yet: only finished work is pushed.', {
      hint: `longshore task watch ${task.id}`,
    });
  }
  const row = await repositoryOf(parts, task);
  return { task, base, commit: head, branch: branchOf(task.id), store: await storeOf(parts, task.id), row };
}

/** Of these very changes, for this origin: an approval of others is worth nothing here. */
function digestOf({ task, base, commit, row }: Outgoing, files: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify([row.id, row.url, task.id, base, commit, files]))
    .digest('hex')
    .slice(0, 32);
}

/** @throws conflict, not_allowed */
function isApproval(pusher: Pusher, { approve }: Wanted, digest: string, shown: ShownDiff): boolean {
  if (approve === undefined) return false;
  if (!pusher.isPerson)
    throw new FarmError('not_allowed', 'A change of what a CI system runs is approved by a person and nobody else.');
  // nobody approves what nobody was shown
  if (shown.truncated || !shown.legible) {
    const why = shown.truncated ? 'are too long to be shown' : 'are not all text';
    throw new FarmError('conflict', `The changes of CI files ${why}, so they can not be approved.`, {
      hint: 'Take them to the origin by hand: longshore task patch.',
    });
  }
  if (approve === digest) return true;
  throw new FarmError('conflict', 'The approval is of other changes than these.', {
    hint: 'Push without an approval to see the changes and what to approve.',
  });
}

/** H39: it waits, and somebody is called; once, however often it is asked for. */
function wait(parts: TeamParts, pusher: Pusher, out: Outgoing, digest: string): Promise<void> {
  return parts.database.transaction(async (tx) => {
    await lockTask(tx, out.task.id);
    const waits = await tx.first(pushSql.wait, { ...keyOf(out), asked_by: pusher.principal, approval: digest });
    if (!waits) return;
    const summary = 'Its branch changes what a CI system runs: a person must see that before it is pushed.';
    await openAttention(parts, tx, { task: out.task.id, job: null, kind: 'push_approval', summary });
    tell(parts, tx, out, 'push_waiting', pusher.principal);
  });
}

/**
 * H39: what the branch comes to, and where more than one commit made it, what each of them did: all of it is pushed, also what a
 * later one took back. As text whatever it is: git would leave out what has a zero byte, or what an attribute calls binary.
 */
async function showChanges(parts: TeamParts, out: Outgoing, paths: readonly string[]): Promise<ShownDiff> {
  const shown = await showAll(parts, out, paths, true);
  if (shown.legible) return shown;
  return { ...(await showAll(parts, out, paths, false)), legible: false };
}

async function showAll(
  parts: TeamParts,
  { store, base, commit }: Outgoing,
  paths: readonly string[],
  everything: boolean,
): Promise<ShownDiff> {
  const asked = { paths, everything, ...(parts.gitLimits && { limits: parts.gitLimits }) };
  const whole = await showDiff(store, base, commit, { ...asked, maxBytes: limits.diffBytes });
  const left = Math.max(0, limits.diffBytes - Buffer.byteLength(whole.text));
  const each = await showHistory(store, base, commit, { ...asked, maxBytes: left });
  if (each.commits === 1 && whole.text !== '') return whole;
  return {
    text: whole.text + each.text,
    truncated: whole.truncated || each.truncated,
    legible: whole.legible && each.legible,
  };
}

function waiting(out: Outgoing, digest: string, files: readonly string[], shown: ShownDiff): Answer {
  const { text, truncated, legible } = shown;
  return {
    state: 'waiting_for_approval',
    branch: out.branch,
    commit: out.commit,
    already: false,
    approval: {
      digest: truncated || !legible ? null : digest,
      repository: out.row.name,
      origin: out.row.url,
      files: [...files],
      diff: text,
      truncated,
      binary: !legible,
    },
    pull_request: null,
  };
}

interface Delivery {
  readonly known: PushRow | undefined;
  readonly digest: string | null;
  readonly approvedBy: string | null;
  readonly signal: AbortSignal;
}

/** True: the origin held it already. */
async function deliver(parts: TeamParts, pusher: Pusher, out: Outgoing, delivery: Delivery): Promise<boolean> {
  const { known, digest: approval, approvedBy: approved_by, signal } = delivery;
  // Committed before anything goes out: whatever dies from here on, the next one knows that it may have arrived.
  await parts.database.transaction(async (tx) => {
    await lockTask(tx, out.task.id);
    await tx.run(pushSql.begin, { ...keyOf(out), asked_by: pusher.principal, approval, approved_by });
  });
  const ours = (await parts.database.all(pushSql.ofTask, { task: out.task.id })).map((push) => push.commit);
  const { remote } = await openOrigin(parts, out.row);
  const how = await withRemote(remote, await scratchOf(parts), async (call) => {
    const sent = await send(parts, out, call, { known, ours, signal });
    await keepHostKeys(parts, { row: out.row }, call);
    return sent;
  });
  const state = how === 'moved' ? 'moved' : 'pushed';
  await parts.database.transaction(async (tx) => {
    await lockTask(tx, out.task.id);
    const settled = await tx.first(pushSql.settle, { task: out.task.id, commit: out.commit, state });
    if (settled && state === 'pushed') tell(parts, tx, out, 'branch_pushed', approved_by ?? pusher.principal);
    tx.later(attentionSql.closeOfTask, { task: out.task.id, kinds: ['push_approval'] });
  });
  if (how !== 'moved') return how === 'already';
  throw new FarmError('conflict', `Somebody else has moved ${out.branch} at the origin; it was not touched.`, {
    hint: 'Fetch what stands there, remove or rename that branch at the origin, and push again.',
  });
}

/** The origin's branch is what we recorded, or nothing, or it stays as it is (force-with-lease, H39). */
async function send(
  parts: TeamParts,
  { branch, commit, store }: Outgoing,
  call: RemoteCall,
  { known, ours, signal }: Pick<Delivery, 'known' | 'signal'> & { readonly ours: readonly string[] },
): Promise<'pushed' | 'already' | 'moved'> {
  const options = { signal, ...(parts.gitLimits && { limits: parts.gitLimits }) };
  const look = async () => (await listRemote(call, [branch], options)).commits.get(branch);
  for (let tries = 0; tries < pushTries; tries += 1) {
    const there = await look();
    if (there === commit) return 'already';
    if (there !== undefined && !ours.includes(there)) return 'moved';
    // It was there once and is gone: merged, mostly. The one effect of this push has been had (A12.22).
    if (there === undefined && known?.state === 'pushed') return 'already';
    if ((await pushBranch(store, call, { commit, branch, expected: there, ...options })) === 'pushed') return 'pushed';
    // A twin was at it in the same moment, perhaps with the very same: look again.
  }
  return 'moved';
}

/** Twins that push one branch at once; each turn lets one of them win. */
const pushTries = 4;

async function request(parts: TeamParts, out: Outgoing, wanted: Wanted, signal: AbortSignal): Promise<PullRequest> {
  const known = pullRequestOf(await parts.database.first(pushSql.read, { task: out.task.id, commit: out.commit }));
  const opened = await openPullRequest(parts, await openOrigin(parts, out.row), {
    branch: out.branch,
    target: wanted.target,
    title: wanted.title ?? out.task.title.replace(/\s+/g, ' '),
    body: wanted.body ?? '',
    known: known?.number,
    forge: wanted.forge,
    signal,
  });
  await parts.database.transaction(async (tx) => {
    await lockTask(tx, out.task.id);
    await tx.run(pushSql.keepPullRequest, {
      task: out.task.id,
      commit: out.commit,
      pull_request: JSON.stringify(opened),
    });
    if (known?.number !== opened.number)
      record(parts, tx, {
        task: out.task.id,
        type: 'pull_request_opened',
        source: 'operator',
        payload: { branch: out.branch, number: opened.number, url: opened.url, created: opened.created },
      });
  });
  return opened;
}

function pullRequestOf(row: PushRow | undefined): PullRequest | null {
  return row?.pull_request == null ? null : { ...row.pull_request, created: false };
}

const keyOf = ({ task, commit, row, branch }: Outgoing) => ({ task: task.id, commit, repository: row.id, branch });

function tell(
  parts: TeamParts,
  tx: Parameters<typeof record>[1],
  { task, branch, commit, row }: Outgoing,
  type: 'push_waiting' | 'branch_pushed',
  principal: string,
): void {
  record(parts, tx, {
    task: task.id,
    type,
    source: 'operator',
    principal,
    payload: { branch, commit, repository: row.name },
  });
}
