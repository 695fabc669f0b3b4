import type { z } from 'zod';
import type { InputOf, OutputOf, setWorkPlan, WorkPlan } from '#contracts';
import { canonicalJson } from '#contracts';
import type { Transaction } from '#store';
import type { MemberCaller } from '../api.js';
import type { TeamParts } from '../parts.js';
import { assignmentSql } from '../sql/teams.js';
import { record } from '../task/events.js';
import { authorize, refuseAfterHandover } from './authority.js';

type Plan = z.output<typeof WorkPlan>;

/** Sets, changes or clears the Assignment's plan; the same plan again changes nothing and leaves no fact. */
export async function setPlan(
  parts: TeamParts,
  tx: Transaction,
  caller: MemberCaller,
  input: InputOf<typeof setWorkPlan>,
): Promise<OutputOf<typeof setWorkPlan>> {
  const authority = await authorize(parts, tx, caller);
  refuseAfterHandover(authority);
  const { task, assignment, dispatch } = authority;
  const plan: Plan | null = input.steps.length === 0 ? null : input;
  if (canonicalJson(plan) === canonicalJson(assignment.plan)) return { changed: false, plan };
  await tx.run(assignmentSql.setPlan, { id: assignment.id, plan: plan === null ? null : JSON.stringify(plan) });
  record(parts, tx, {
    task: task.id,
    type: plan === null ? 'work_plan_cleared' : 'work_plan_set',
    source: 'node',
    payload: { dispatch: dispatch.id, member: assignment.member, ...(plan === null ? {} : { plan }) },
  });
  return { changed: true, plan };
}
