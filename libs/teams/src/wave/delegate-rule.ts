import { FarmError } from '#contracts';
import type { Queries, Transaction } from '#store';
import { checkOpen } from '../checkpoint/check-checkpoint.js';
import { closeDispatch } from '../dispatch/accept-work.js';
import { openDispatch } from '../dispatch/open-dispatch.js';
import type { BodyOf } from '../handover/handover-body.js';
import { type HandoverRule, namedFiles, type Standing } from '../handover/handover-rule.js';
import type { TeamParts } from '../parts.js';
import type { TeamMemberRow } from '../rows.js';
import { assignmentSql, teamSql } from '../sql/teams.js';
import { waveSql } from '../sql/wave.js';
import { record } from '../task/events.js';

/** A Wave: work for direct children, all or none (I10). */
export const delegateRule: HandoverRule<'delegate'> = {
  check: checkDelegation,
  files: ({ children }) => children.flatMap(({ files }, n) => namedFiles(files, `/assignments/${n}`)),

  async apply(parts, tx, standing, { wave, children }, { commit }) {
    const { task, assignment, dispatch } = standing;
    const team = await currentTeam(tx, standing);
    await closeDispatch(tx, dispatch, 'delegation', commit);
    await tx.run(assignmentSql.useChildren, { id: assignment.id, count: children.length });
    await tx.run(waveSql.add, {
      id: wave,
      task: task.id,
      assignment: assignment.id,
      source_dispatch: dispatch.id,
      team_revision: dispatch.pins.team_revision,
    });
    record(parts, tx, {
      task: task.id,
      type: 'wave_opened',
      source: 'node',
      payload: {
        wave,
        dispatch: dispatch.id,
        member: assignment.member,
        commit,
        members: children.map((child) => ({ member: child.child_id, assignment: child.assignment })),
      },
    });
    for (const [position, child] of children.entries()) {
      const row = memberOf(team, child.child_id);
      await openChild(parts, tx, standing, { wave, position, child, row });
    }
  },
};

type Child = BodyOf<'delegate'>['children'][number];

/** @throws stale_dispatch, stale_assignment, illegal_caller, illegal_target_relation, illegal_state, budget_exhausted */
async function checkDelegation(queries: Queries, standing: Standing, body: BodyOf<'delegate'>): Promise<void> {
  await checkOpen(queries, standing);
  const { task, assignment } = standing;
  const team = await currentTeam(queries, standing);
  const direct = team.filter((row) => row.parent === assignment.member);
  if (direct.length === 0) throw new FarmError('illegal_caller', 'Nobody stands below you: do the work yourself.');
  const known = new Set(direct.map((row) => row.member));
  const strangers = body.children.flatMap(({ child_id }, n) => (known.has(child_id) ? [] : [n]));
  if (strangers.length > 0) {
    throw new FarmError('illegal_target_relation', 'Work goes to direct children only.', {
      fields: strangers.map((n) => ({ path: `/assignments/${n}/child_id`, rule: 'direct_child' })),
      hint: `Your direct children are: ${direct.map((row) => row.member).join(', ')}.`,
    });
  }
  const open = await queries.all(assignmentSql.openOf, { task: task.id });
  const busy = new Set(open.map((row) => row.member));
  const occupied = body.children.flatMap(({ child_id }, n) => (busy.has(child_id) ? [n] : []));
  if (occupied.length > 0) {
    throw new FarmError('illegal_state', 'A child that is at work takes no further Assignment.', {
      fields: occupied.map((n) => ({ path: `/assignments/${n}/child_id`, rule: 'available' })),
    });
  }
  const left = assignment.children_limit - assignment.children_used;
  if (body.children.length <= left) return;
  throw new FarmError('budget_exhausted', `This Assignment may give ${left} more Assignments to children.`, {
    fields: [{ path: '/assignments', rule: `max:${left}` }],
    hint: 'Do the rest yourself, or report blocked with what would be needed.',
  });
}

interface Opening {
  readonly wave: string;
  readonly position: number;
  readonly child: Child;
  readonly row: TeamMemberRow;
}

/** The child's line starts where the parent's stands: at the work that has just been accepted. */
async function openChild(
  parts: TeamParts,
  tx: Transaction,
  { task, assignment, dispatch }: Standing,
  { wave, position, child, row }: Opening,
): Promise<void> {
  const opened = await tx.first(assignmentSql.addChild, {
    id: child.assignment,
    task: task.id,
    member: child.child_id,
    parent: assignment.id,
    dispatch: dispatch.id,
    prompt: child.prompt,
    files: JSON.stringify(child.files),
    children_limit: task.settings.children_limit,
    retry_limit: task.settings.retry_limit,
    base: assignment.line_head,
  });
  if (!opened) throw new FarmError('illegal_state', 'A child that is at work takes no further Assignment.');
  await tx.run(waveSql.addMember, {
    wave,
    position,
    member: child.child_id,
    assignment: child.assignment,
    config_id: row.config_id,
    basis_id: row.basis_id,
  });
  await openDispatch(parts, tx, task, opened, { reason: 'delegation', causedBy: null, continuation: null });
}

function memberOf(team: readonly TeamMemberRow[], id: string): TeamMemberRow {
  const row = team.find(({ member }) => member === id);
  if (!row) throw new Error('a checked child is not in the team');
  return row;
}

async function currentTeam(queries: Queries, { task, dispatch }: Standing): Promise<readonly TeamMemberRow[]> {
  return queries.all(teamSql.members, { revision: task.team_revision ?? dispatch.pins.team_revision });
}
