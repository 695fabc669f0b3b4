import type { z } from 'zod';
import type { MemberState } from '#contracts';
import type { Queries } from '#store';
import type { AssignmentRow, TaskRow } from '../rows.js';
import { dispatchSql } from '../sql/teams.js';
import { steerActions } from '../steer/steer-actions.js';

/** How a member stands, and what may be done with it. */
export interface MemberStanding {
  readonly latest: AssignmentRow | undefined;
  readonly state: z.output<typeof MemberState>;
  /** Null: what it waits for stands elsewhere in the view. */
  readonly waits_for: 'lanes' | null;
  readonly steer_action: { id: string } | null;
}

/** Answers for any member of the Task how it stands, from one reading. */
export async function readStandings(
  tx: Queries,
  task: TaskRow,
  assignments: readonly AssignmentRow[],
): Promise<(member: string) => MemberStanding> {
  const open = await tx.all(dispatchSql.open, { task: task.id });
  const awaiting = await tx.all(dispatchSql.awaitingLane, { task: task.id });
  const steerable = await steerActions(tx, task);
  return (member) => {
    const latest = assignments.findLast((assignment) => assignment.member === member);
    const waits = awaiting.some(({ assignment }) => assignment === latest?.id);
    const atWork = latest !== undefined && !waits && open.some((dispatch) => dispatch.assignment === latest.id);
    const action = steerable.find((each) => each.member === member);
    return {
      latest,
      state: stateOf(task, latest, atWork),
      waits_for: waits ? ('lanes' as const) : null,
      steer_action: action === undefined ? null : { id: action.action_id },
    };
  };
}

function stateOf(task: TaskRow, latest: AssignmentRow | undefined, atWork: boolean): MemberStanding['state'] {
  if (!latest) return 'not_started';
  if (latest.outcome === 'green') return 'done';
  if (latest.outcome === 'blocked' || task.status === 'cancelled') return 'blocked';
  return atWork && task.status === 'running' ? 'working' : 'waiting';
}
