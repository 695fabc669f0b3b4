import { FarmError, newId } from '#contracts';
import type { Queries, Transaction } from '#store';
import { checkOpen } from '../checkpoint/check-checkpoint.js';
import { closeDispatch } from '../dispatch/accept-work.js';
import { openDispatch } from '../dispatch/open-dispatch.js';
import type { BodyOf } from '../handover/handover-body.js';
import type { HandoverRule, Standing } from '../handover/handover-rule.js';
import type { TaskRow, TeamMemberRow } from '../rows.js';
import { assignmentSql, taskSql, teamSql } from '../sql/teams.js';
import { record } from '../task/events.js';
import { lockTask } from '../task/lock-task.js';
import { changeTeam, type PlannedMember } from './change-team.js';

/** A change of the caller's branch: a new revision of the team, and the same attempt goes on in it (§4.5 of the team rules). */
export const replanRule: HandoverRule<'replan'> = {
  async check(queries, standing, body) {
    await checkOpen(queries, standing);
    await planChange(queries, standing, body);
  },

  files: () => [],

  /** D5: applied to the revision that is current now; what changed elsewhere meanwhile stays. */
  async apply(parts, tx, standing, body, { commit }) {
    const { task, assignment, dispatch } = standing;
    const { team } = await planChange(tx, standing, body);
    const revision = await adopt(tx, standing, team);
    await closeDispatch(tx, dispatch, 'structural_replan', commit);
    const { created_ids, updated_ids, removed_ids, operation } = body.result;
    record(parts, tx, {
      task: task.id,
      type: 'structural_revision_adopted',
      source: 'node',
      payload: { dispatch: dispatch.id, member: assignment.member, revision, created_ids, updated_ids, removed_ids },
    });
    await openDispatch(parts, tx, await lockTask(tx, task.id), assignment, {
      reason: 'structural_replan',
      causedBy: dispatch.id,
      continuation: { kind: 'structural_replan', source_dispatch: dispatch.id, operation, result: body.result },
    });
  },
};

/** @throws illegal_target_relation, illegal_state, budget_exhausted */
export async function planChange(
  queries: Queries,
  { task, assignment }: Standing,
  { change, reserved }: { readonly change: BodyOf<'replan'>['change']; readonly reserved: readonly string[] },
) {
  const team = await currentTeam(queries, task);
  if (change.operation !== 'add_child' && !team.some((row) => row.parent === assignment.member))
    throw new FarmError('illegal_caller', 'Nobody stands below you.');
  const changed = changeTeam(team, assignment.member, change, reserved);
  const open = new Set((await queries.all(assignmentSql.openOf, { task: task.id })).map(({ member }) => member));
  const busy = changed.touched.filter((member) => open.has(member));
  if (busy.length === 0) return { ...changed, before: team };
  throw new FarmError('illegal_state', `Members that are at work can not be changed: ${busy.join(', ')}.`, {
    hint: 'Wait until they have reported.',
  });
}

async function currentTeam(queries: Queries, task: TaskRow): Promise<readonly TeamMemberRow[]> {
  if (task.team_revision === null) throw new Error('the Task has no team yet');
  return queries.all(teamSql.members, { revision: task.team_revision });
}

/** Older revisions stay as they are (I11). */
async function adopt(tx: Transaction, { task, dispatch }: Standing, team: readonly PlannedMember[]): Promise<string> {
  const revision = newId();
  await tx.run(teamSql.addSuccessor, {
    id: revision,
    task: task.id,
    predecessor: task.team_revision,
    dispatch: dispatch.id,
  });
  for (const { config_id, basis_id, configuration, ...row } of team) {
    tx.later(teamSql.addMember, {
      revision,
      ...row,
      config_id: config_id ?? newId(),
      basis_id: basis_id ?? newId(),
      configuration: JSON.stringify(configuration),
    });
  }
  const moved = await tx.run(taskSql.adoptTeam, { task: task.id, from: task.team_revision, to: revision });
  if (moved !== 1) throw new FarmError('conflict', 'The team has changed meanwhile.', { hint: 'Try again.' });
  return revision;
}
