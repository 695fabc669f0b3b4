import { FarmError, type InputOf, type OutputOf, type taskGet } from '#contracts';
import type { Queries } from '#store';
import type { PreparedView } from '../api.js';
import { findRequest, viewRequest } from '../human-request/view-requests.js';
import type { TeamParts } from '../parts.js';
import type { TaskRow, TeamMemberRow } from '../rows.js';
import { assignmentSql, dispatchSql, taskSql } from '../sql/teams.js';
import { readUsage } from '../usage/read-usage.js';
import { activitiesOf, activitySeq, toldTypes } from './activities.js';
import { readStandings } from './member-state.js';
import { readResult } from './read-result.js';

type View = OutputOf<typeof taskGet>;
type Selection = Exclude<NonNullable<InputOf<typeof taskGet>['selection']>, { kind: 'overview' }>;
type Of<Kind extends Selection['kind']> = Extract<Selection, { kind: Kind }>;

export interface SelectionGround {
  readonly task: TaskRow;
  readonly team: readonly TeamMemberRow[];
  /** What a member is called. */
  readonly name: (member: string) => string;
  readonly prepared: PreparedView;
}

/** One part of a Task, whole (O11). @throws not_found for what is not there, or is another Task's */
export async function readSelection(
  parts: TeamParts,
  tx: Queries,
  selection: Selection,
  ground: SelectionGround,
): Promise<View> {
  switch (selection.kind) {
    case 'member':
      return readMember(tx, selection, ground);
    case 'result':
      return { selection: 'result', task_id: ground.task.id, result: await requireResult(parts, tx, ground) };
    case 'activity':
      return { selection: 'activity', task_id: ground.task.id, activity: await readActivity(tx, selection, ground) };
    case 'human_request': {
      const row = await findRequest(tx, ground.task.id, selection.request_id);
      const human_request = { ...viewRequest(row, ground.name), files: [] };
      return { selection: 'human_request', task_id: ground.task.id, human_request };
    }
    case 'human_request_files': {
      const { id, files } = await findRequest(tx, ground.task.id, selection.request_id);
      return { selection: 'human_request_files', task_id: ground.task.id, request_id: id, files: [...files] };
    }
  }
}

async function readMember(
  tx: Queries,
  { member_id }: Of<'member'>,
  { task, team, name }: SelectionGround,
): Promise<View> {
  const row = team.find(({ member }) => member === member_id);
  if (!row)
    throw new FarmError('not_found', 'The team has no such member now.', {
      hint: 'Each member tells who is directly below it, from the lead on; a change of the team may have removed one.',
    });
  const standingOf = await readStandings(tx, task, await tx.all(assignmentSql.ofTask, { task: task.id }));
  const { latest, state, waits_for, steer_action } = standingOf(row.member);
  const said = await tx.first(dispatchSql.latestCheckpoint, { task: task.id, member: row.member });
  const below = team.filter(({ parent }) => parent === row.member);
  const { description, instruction, provider, capabilities } = row.configuration;
  return {
    selection: 'member',
    task_id: task.id,
    member_id: row.member,
    parent_id: row.parent,
    name: name(row.member),
    description: description ?? null,
    instruction: instruction ?? null,
    behavior: below.length > 0 ? 'manager' : 'contributor',
    provider: provider ?? null,
    capabilities: capabilities ?? null,
    children: below.map(({ member }) => ({
      member_id: member,
      name: name(member),
      state: standingOf(member).state,
    })),
    state,
    waits_for,
    mission: latest === undefined ? null : { prompt: latest.prompt, files: [...latest.files] },
    plan: latest?.plan ?? null,
    latest_update:
      said === undefined ? null : { ...said, files: [...said.files], recorded_at: said.recorded_at.toISOString() },
    steer_action,
  };
}

async function requireResult(parts: TeamParts, tx: Queries, { task, prepared }: SelectionGround) {
  const assignments = await tx.all(assignmentSql.ofTask, { task: task.id });
  const usage = await readUsage(tx, task.id);
  const result = await readResult(parts, tx, task, { assignments, prepared, usage });
  if (result) return result;
  throw new FarmError('not_found', `The Task is ${task.status} and has no Result.`);
}

/** @throws not_found also for facts of the record that people are not told */
async function readActivity(tx: Queries, { activity_id }: Of<'activity'>, { task, name }: SelectionGround) {
  const seq = activitySeq(task.id, activity_id);
  const fact =
    seq === undefined ? undefined : await tx.first(taskSql.toldEvent, { task: task.id, types: toldTypes, seq });
  const [activity] = fact === undefined ? [] : activitiesOf(task.id, [fact], name);
  if (activity) return activity;
  throw new FarmError('not_found', 'The Task has no such activity.');
}
