import {
  Attention,
  FarmError,
  type InputOf,
  limits,
  type OutputOf,
  PauseReason,
  type TaskResult,
  type TaskView,
  type taskGet,
} from '#contracts';
import type { Queries, Transaction } from '#store';
import { pauseText } from '../account/place-accounts.js';
import type { PreparedView } from '../api.js';
import { viewRuns } from '../command-run/view-runs.js';
import { setupFailedText } from '../dispatch/note-setup.js';
import { viewRequests } from '../human-request/view-requests.js';
import type { TeamParts } from '../parts.js';
import type { AssignmentRow, TaskRow } from '../rows.js';
import { assignmentSql, attentionSql, dispatchSql, rescueSql, taskSql, teamSql } from '../sql/teams.js';
import { readUsage } from '../usage/read-usage.js';
import { actionIdOf, actionsOf } from './actions.js';
import { activitiesOf, toldTypes } from './activities.js';
import { readStandings } from './member-state.js';
import { productStatus } from './product-status.js';
import { readResult } from './read-result.js';
import { readSelection, type SelectionGround } from './read-selection.js';
import { Shortening } from './shorten.js';

type Overview = Extract<OutputOf<typeof taskGet>, { selection: 'overview' }>;

/** The Task for people: derived from rows in one reading, without ids of Dispatches or Assignments (I24). @throws not_found */
export async function readView(
  parts: TeamParts,
  tx: Transaction,
  { task_id, selection = { kind: 'overview' } }: InputOf<typeof taskGet>,
  prepared: PreparedView,
): Promise<OutputOf<typeof taskGet>> {
  const task = await tx.first(taskSql.read, { task: task_id });
  if (!task) throw new FarmError('not_found', 'There is no such Task.');
  const team = task.team_revision === null ? [] : await tx.all(teamSql.members, { revision: task.team_revision });
  const names = new Map(team.map((row) => [row.member, row.configuration.title ?? row.member]));
  const ground = { task, team, prepared, name: (member: string) => names.get(member) ?? member };
  return selection.kind === 'overview' ? readOverview(parts, tx, ground) : readSelection(parts, tx, selection, ground);
}

async function readOverview(parts: TeamParts, tx: Transaction, ground: SelectionGround): Promise<Overview> {
  const { task, team, prepared, name } = ground;
  const id = task.id;
  const short = new Shortening();
  const assignments = await tx.all(assignmentSql.ofTask, { task: id });
  const usage = await readUsage(tx, id);
  const result = await readResult(parts, tx, task, { assignments, prepared, usage });
  const lanes = await tx.first(dispatchSql.starting, { task: id });
  const attention = [...(await readAttention(tx, task, result)), ...(await pausedAccounts(parts, tx, task))];
  const requests = await viewRequests(tx, id, name, short);
  const runs = await viewRuns(tx, task, name, short);
  const rescues = await tx.all(rescueSql.ofTask, { task: id });
  const facts = await tx.all(taskSql.told, { task: id, types: toldTypes, limit: limits.overviewList });
  const activities = { items: activitiesOf(id, facts, name), total: facts[0]?.total ?? 0 };
  const shown = {
    selection: 'overview' as const,
    task_id: id,
    title: short.name('title', task.title),
    prompt_excerpt: short.text('prompt_excerpt', task.prompt),
    workflow: { workflow_id: task.workflow, revision_no: task.revision_no },
    status: task.status,
    product_status: productStatus({ ...task, waiting: lanes?.waiting ?? false, starting: lanes?.starting ?? false }),
    pause_reason: task.pause_reason === null ? null : PauseReason.parse(task.pause_reason),
    workspace: folderOf(task),
    started_at: task.created_at.toISOString(),
    updated_at: task.updated_at.toISOString(),
    ended_at: task.ended_at?.toISOString() ?? null,
    team: await readTeam(tx, ground, assignments, short),
    attention: short
      .list('attention', attention)
      .map(({ kind, summary }) => ({ kind, summary: short.text('attention', summary) })),
    actions: [...actionsOf(task)],
    human_requests: short.list('human_requests', requests.items, requests.total),
    command_runs: short.list('command_runs', runs.items, runs.total),
    usage: usage && { ...usage, steps: lastSteps(short, usage.steps) },
    budget: task.settings.budget ?? null,
    result: result && shortResult(short, result),
    rescues: short.list('rescues', rescues).map((row) => ({
      ref: actionIdOf([row.job, row.epoch, row.commit]).replace('action.', 'rescue.').slice(0, rescueRefChars),
      commit: row.commit,
      member_id: row.member,
      kept_at: row.kept_at.toISOString(),
      why: short.text('rescues', row.why),
    })),
    activities: short.list('activities', activities.items, activities.total).map((each) => shortActivity(short, each)),
  };
  const totals = {
    team: team.length,
    attention: attention.length,
    human_requests: requests.total,
    command_runs: runs.total,
    rescues: rescues.length,
    activities: activities.total,
  };
  return { ...shown, totals, truncated: short.truncated };
}

const folderOf = ({ source }: TaskRow): Overview['workspace'] =>
  source.kind === 'in_place' ? { host: source.host, path: source.path } : null;

/** A name that stays and says nothing of the machinery (I24). */
const rescueRefChars = 23;

async function readTeam(
  tx: Queries,
  { task, team, name }: SelectionGround,
  assignments: readonly AssignmentRow[],
  short: Shortening,
): Promise<Overview['team']> {
  const standingOf = await readStandings(tx, task, assignments);
  const updates = await tx.all(dispatchSql.latestCheckpoints, { task: task.id });
  return short.list('team', team).map(({ member, parent }) => {
    const { latest, state, waits_for, steer_action } = standingOf(member);
    const said = updates.find((update) => update.member === member)?.summary ?? null;
    const plan = latest?.plan ?? null;
    return {
      member_id: member,
      parent_id: parent,
      name: short.name('team', name(member)),
      state,
      latest_update: short.optional('team', said),
      plan: plan && {
        ...(plan.explanation === undefined ? {} : { explanation: short.name('team', plan.explanation) }),
        steps: plan.steps.map(({ step, status }) => ({ step: short.name('team', step), status })),
      },
      waits_for,
      steer_action,
    };
  });
}

/** Of many the last ones: those that go on. */
function lastSteps<Step>(short: Shortening, steps: readonly Step[]): Step[] {
  return short.list('usage', steps.slice(-limits.overviewList), steps.length);
}

function shortActivity(short: Shortening, activity: TaskView['activities'][number]): TaskView['activities'][number] {
  return {
    ...activity,
    title: short.name('activities', activity.title),
    summary: short.optional('activities', activity.summary),
    files: short.whole('activities', activity.files),
  };
}

function shortResult(short: Shortening, result: TaskResult): TaskResult {
  const { verification, usage } = result;
  const text = (value: string) => short.text('result', value);
  return {
    ...result,
    summary: text(result.summary),
    details: short.optional('result', result.details),
    files: short.whole('result', result.files),
    files_changed: short.list('result', result.files_changed, result.files_changed_total),
    unmerged: short.list('result', result.unmerged),
    ...(result.notes && { notes: result.notes.map(text) }),
    verification: verification && {
      ...verification,
      command: text(verification.command),
      detail: short.optional('result', verification.detail),
      tail: short.tail('result', verification.tail),
    },
    usage: usage && { ...usage, steps: lastSteps(short, usage.steps) },
  };
}

/** What waits for an account's limit to end, and until when. */
async function pausedAccounts(parts: TeamParts, tx: Queries, task: TaskRow): Promise<Overview['attention']> {
  if (task.status !== 'running') return [];
  const paused = (await parts.queue().accounts(tx)).filter(({ paused_ms }) => paused_ms !== null);
  if (paused.length === 0) return [];
  const { jobs } = await parts.queue().list(tx, { scope: task.id, state: 'queued', limit: limits.lanesPerTask });
  return paused
    .filter(({ account }) => jobs.some((job) => job.account === account))
    .map((state) => ({ kind: 'account_paused', summary: pauseText(state) }));
}

async function readAttention(tx: Queries, task: TaskRow, result: TaskResult | null): Promise<Overview['attention']> {
  const rows = await tx.all(attentionSql.ofTask, { task: task.id });
  const open = rows.flatMap((row) => {
    const read = Attention.safeParse(row);
    return read.success ? [read.data] : [];
  });
  return result === null ? open : [...open, ...attentionOf(result)];
}

/** What a Result calls somebody for: these have no rows, so that nothing is to be closed. */
function attentionOf({ outcome, summary, verified, verification, isolation }: TaskResult): Overview['attention'] {
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
