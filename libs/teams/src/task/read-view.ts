import type { z } from 'zod';
import {
  Attention,
  DispatchResult,
  FarmError,
  type InputOf,
  limits,
  type MemberState,
  type OutputOf,
  PauseReason,
  type TaskResult,
  type taskGet,
} from '#contracts';
import { changedSubmodules, diffStat } from '#git';
import type { Queries, Transaction } from '#store';
import { pauseText } from '../account/place-accounts.js';
import type { PreparedView } from '../api.js';
import { readVerification } from '../command-run/read-verification.js';
import { viewRuns } from '../command-run/view-runs.js';
import { setupFailedText } from '../dispatch/note-setup.js';
import { viewRequests } from '../human-request/view-requests.js';
import type { TeamParts } from '../parts.js';
import type { AssignmentRow, TaskRow, TeamMemberRow } from '../rows.js';
import { teamWorkSql } from '../sql/team-work.js';
import { assignmentSql, attentionSql, dispatchSql, rescueSql, taskSql, teamSql } from '../sql/teams.js';
import { steerActions } from '../steer/steer-actions.js';
import { readUsage } from '../usage/read-usage.js';
import { actionIdOf, actionsOf } from './actions.js';
import { activitiesOf, toldTypes } from './activities.js';
import { branchOf } from './branch.js';
import { productStatus } from './product-status.js';
import { storeOf } from './task-store.js';

type View = OutputOf<typeof taskGet>;

const nothingChanged: PreparedView = { files_changed: [], files_changed_total: 0 };

/** What the Task's branch changes against its base, read from git outside any transaction. */
export async function prepareView(parts: TeamParts, id: string): Promise<PreparedView> {
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

/** The Task for people: derived from rows in one reading, without ids of Dispatches or Assignments (I24). @throws not_found */
export async function readView(
  parts: TeamParts,
  tx: Transaction,
  input: InputOf<typeof taskGet>,
  prepared: PreparedView,
): Promise<View> {
  const task = await tx.first(taskSql.read, { task: input.task_id });
  if (!task) throw new FarmError('not_found', 'There is no such Task.');
  const id = task.id;
  const team = task.team_revision === null ? [] : await tx.all(teamSql.members, { revision: task.team_revision });
  const assignments = await tx.all(assignmentSql.ofTask, { task: id });
  const names = new Map(team.map((row) => [row.member, row.configuration.title ?? row.member]));
  const usage = await readUsage(tx, id);
  // The Task may have completed after git was looked at: its Result does not go out without its files.
  const early = task.status === 'completed' && prepared === nothingChanged;
  const seen = early ? await prepareView(parts, id) : prepared;
  const result = await readResult(tx, task, assignments, { ...seen, usage });
  const facts = await tx.all(taskSql.eventsOf, { task: id, types: toldTypes, limit: shownActivities });
  const lanes = await tx.first(dispatchSql.starting, { task: id });
  return {
    task_id: id,
    title: task.title,
    prompt_excerpt: task.prompt.slice(0, excerptChars),
    workflow: { workflow_id: task.workflow, revision_no: task.revision_no },
    status: task.status,
    product_status: productStatus({ ...task, waiting: lanes?.waiting ?? false, starting: lanes?.starting ?? false }),
    pause_reason: task.pause_reason === null ? null : PauseReason.parse(task.pause_reason),
    started_at: task.created_at.toISOString(),
    updated_at: task.updated_at.toISOString(),
    ended_at: task.ended_at?.toISOString() ?? null,
    team: await readTeam(tx, task, team, assignments),
    attention: [...(await readAttention(tx, task, result)), ...(await pausedAccounts(parts, tx, task))],
    actions: [...actionsOf(task)],
    human_requests: await viewRequests(tx, id, (member) => names.get(member) ?? member),
    command_runs: await viewRuns(tx, task, (member) => names.get(member) ?? member),
    usage,
    budget: task.settings.budget ?? null,
    result,
    rescues: (await tx.all(rescueSql.ofTask, { task: id })).map((row) => ({
      ref: actionIdOf([row.job, row.epoch, row.commit]).replace('action.', 'rescue.').slice(0, rescueRefChars),
      commit: row.commit,
      member_id: row.member,
      kept_at: row.kept_at.toISOString(),
      why: row.why,
    })),
    activities: [...activitiesOf(id, facts, (member) => names.get(member) ?? member)],
  };
}

/** A name that stays and says nothing of the machinery (I24). */
const rescueRefChars = 23;
const excerptChars = 512;
const shownActivities = 20;

async function readTeam(
  tx: Queries,
  task: TaskRow,
  team: readonly TeamMemberRow[],
  assignments: readonly AssignmentRow[],
): Promise<View['team']> {
  const open = await tx.all(dispatchSql.open, { task: task.id });
  const awaiting = await tx.all(dispatchSql.awaitingLane, { task: task.id });
  const updates = await tx.all(dispatchSql.latestCheckpoints, { task: task.id });
  const steerable = await steerActions(tx, task);
  return team.map((row) => {
    const latest = assignments.findLast((assignment) => assignment.member === row.member);
    const waits = awaiting.some(({ assignment }) => assignment === latest?.id);
    const atWork = latest !== undefined && !waits && open.some((dispatch) => dispatch.assignment === latest.id);
    return {
      member_id: row.member,
      parent_id: row.parent,
      name: row.configuration.title ?? row.member,
      state: memberState(task, latest, atWork),
      latest_update: updates.find((update) => update.member === row.member)?.summary ?? null,
      plan: latest?.plan ?? null,
      waits_for: waits ? ('lanes' as const) : null,
      steer_action: steerActionOf(steerable, row.member),
    };
  });
}

function steerActionOf(steerable: Awaited<ReturnType<typeof steerActions>>, member: string): { id: string } | null {
  const action = steerable.find((each) => each.member === member);
  return action === undefined ? null : { id: action.action_id };
}

function memberState(task: TaskRow, latest: AssignmentRow | undefined, atWork: boolean): z.output<typeof MemberState> {
  if (!latest) return 'not_started';
  if (latest.outcome === 'green') return 'done';
  if (latest.outcome === 'blocked' || task.status === 'cancelled') return 'blocked';
  return atWork && task.status === 'running' ? 'working' : 'waiting';
}

/** I7: the root's accepted checkpoint, read and never copied; a cancelled Task has none. */
async function readResult(
  tx: Queries,
  task: TaskRow,
  assignments: readonly AssignmentRow[],
  prepared: PreparedView & Pick<View, 'usage'>,
): Promise<View['result']> {
  const root = assignments.find((assignment) => assignment.id === task.root_assignment);
  if (task.status !== 'completed' || task.outcome === null || !root) return null;
  const boundary = await tx.first(dispatchSql.boundary, { assignment: root.id });
  if (!boundary) throw new Error('a completed Task without its boundary');
  const said = DispatchResult.parse(boundary.result);
  const changed = root.line_head !== root.line_base;
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
    ...prepared,
    isolation: said.isolation ?? null,
    completed_at: boundary.recorded_at.toISOString(),
  };
}

async function readUnmerged(tx: Queries, task: string, root: string): Promise<TaskResult['unmerged']> {
  const rows = await tx.all(teamWorkSql.unmergedOfTask, { task, root, limit: limits.pageMax });
  return rows.map(({ branch, commit, member }) => ({ branch, commit, member_id: member }));
}

/** What waits for an account's limit to end, and until when. */
async function pausedAccounts(parts: TeamParts, tx: Queries, task: TaskRow): Promise<View['attention']> {
  if (task.status !== 'running') return [];
  const paused = (await parts.queue().accounts(tx)).filter(({ paused_ms }) => paused_ms !== null);
  if (paused.length === 0) return [];
  const { jobs } = await parts.queue().list(tx, { scope: task.id, state: 'queued', limit: limits.lanesPerTask });
  return paused
    .filter(({ account }) => jobs.some((job) => job.account === account))
    .map((state) => ({ kind: 'account_paused', summary: pauseText(state) }));
}

async function readAttention(tx: Queries, task: TaskRow, result: View['result']): Promise<View['attention']> {
  const rows = await tx.all(attentionSql.ofTask, { task: task.id });
  const open = rows.flatMap((row) => {
    const read = Attention.safeParse(row);
    return read.success ? [read.data] : [];
  });
  return result === null ? open : [...open, ...attentionOf(result)];
}

/** What a Result calls somebody for: these have no rows, so that nothing is to be closed. */
function attentionOf({
  outcome,
  summary,
  verified,
  verification,
  isolation,
}: NonNullable<View['result']>): View['attention'] {
  const failed = isolation?.setup === 'failed';
  const said =
    verification?.detail ?? (verification?.exit_code == null ? '' : `It ended with ${verification.exit_code}.`);
  return [
    ...(outcome === 'blocked' ? [{ kind: 'blocked_result' as const, summary }] : []),
    ...(outcome === 'green' && verified === false
      ? [{ kind: 'verify_failed' as const, summary: `The verify command did not pass. ${said}`.trim() }]
      : []),
    ...(failed ? [{ kind: 'setup_failed' as const, summary: setupFailedText(isolation) }] : []),
  ];
}
