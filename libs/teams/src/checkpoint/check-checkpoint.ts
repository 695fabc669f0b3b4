import { FarmError } from '#contracts';
import type { Queries } from '#store';
import type { Standing } from '../handover/handover-rule.js';
import type { CheckpointBody } from '../rows.js';
import { teamSql } from '../sql/teams.js';

/**
 * The rules of a terminal checkpoint, whole: asked at the call and asked again when the work has arrived (H1).
 *
 * @throws stale_dispatch, stale_assignment, budget_exhausted, boundary_precondition_failed
 */
export async function checkCheckpoint(
  queries: Queries,
  standing: Standing,
  body: Pick<CheckpointBody, 'outcome'>,
): Promise<void> {
  const { task, assignment, dispatch } = standing;
  await checkOpen(queries, standing);
  if (body.outcome === 'retry' && assignment.retries_used >= assignment.retry_limit) {
    throw new FarmError('budget_exhausted', 'All attempts of this Assignment are used up.', {
      hint: 'Report green, or blocked with what would be needed.',
    });
  }
  if (body.outcome !== 'green') return;
  const missing = await queries.all(teamSql.unproven, {
    task: task.id,
    pinned: dispatch.pins.team_revision,
    current: task.team_revision ?? dispatch.pins.team_revision,
    member: dispatch.pins.member,
  });
  if (missing.length === 0) return;
  throw new FarmError(
    'boundary_precondition_failed',
    `A green checkpoint needs a green of each direct child; missing: ${missing.map((row) => row.member).join(', ')}.`,
  );
}

/** What any handover stands on. @throws stale_dispatch, stale_assignment */
export async function checkOpen(queries: Queries, standing: Standing): Promise<void> {
  const { assignment, dispatch } = standing;
  await checkSelection(queries, standing);
  if (assignment.closed_at !== null) throw new FarmError('stale_assignment');
  if (dispatch.closed_at !== null || assignment.attempt !== dispatch.attempt) throw new FarmError('stale_dispatch');
}

/** The team may have changed elsewhere; only this member's own configuration and branch must be the ones it was given. */
export async function checkSelection(
  queries: Queries,
  { task, dispatch }: Omit<Standing, 'assignment'>,
): Promise<void> {
  const { pins } = dispatch;
  if (task.team_revision === pins.team_revision) return;
  const team = task.team_revision === null ? [] : await queries.all(teamSql.members, { revision: task.team_revision });
  const self = team.find((row) => row.member === pins.member);
  if (self?.config_id === pins.config_id && self.basis_id === pins.basis_id) return;
  throw new FarmError('stale_dispatch', 'The team has changed where this member stands.');
}
