import { bells, FarmError, type InputOf, type OutputOf, type Preview, type taskMemberSteer } from '#contracts';
import type { Queries, Transaction } from '#store';
import type { Actor } from '../api.js';
import type { TeamParts } from '../parts.js';
import type { TaskRow } from '../rows.js';
import { type SteerRow, steerSql } from '../sql/steer.js';
import { taskSql } from '../sql/teams.js';
import { lockTask } from '../task/lock-task.js';
import { steerActions } from './steer-actions.js';

type Input = InputOf<typeof taskMemberSteer>;
type Answer = OutputOf<typeof taskMemberSteer>;

/**
 * Gives a member's session a message, once for an action: the same again is the same act. What becomes of it is heard by a beat
 * (I23). @throws not_found, conflict
 */
export async function steerMember(parts: TeamParts, tx: Transaction, actor: Actor, input: Input): Promise<Answer> {
  const task = await lockTask(tx, input.task_id);
  const said = await saidBefore(tx, input);
  if (said) return answerOf(said);
  const { dispatch, assignment, worker } = await offered(tx, task, input);
  const seq = await parts.queue().signal(tx, dispatch, { kind: 'steer', text: input.message });
  await tx.run(steerSql.add, {
    action_id: input.action_id,
    task: task.id,
    member: input.member_id,
    assignment,
    dispatch,
    seq,
    message: input.message,
    principal: actor.principal,
  });
  tx.afterCommit(() => parts.bell.ring(bells.worker(worker)));
  return { member_id: input.member_id, status: 'queued' };
}

/** For who must be asked first. @throws not_found, conflict */
export async function previewSteer(tx: Transaction, input: Input): Promise<Preview> {
  const task = await tx.first(taskSql.read, { task: input.task_id });
  if (!task) throw new FarmError('not_found', 'There is no such Task.');
  if (!(await saidBefore(tx, input))) await offered(tx, task, input);
  return { summary: `Says something to ${input.member_id} while it works`, changes: [] };
}

/** @throws conflict where the session took nothing */
export function answerOf({ member, outcome, over }: Pick<SteerRow, 'member' | 'outcome' | 'over'>): Answer {
  if (outcome === 'not_running')
    throw new FarmError('conflict', 'The session of this member took nothing more: its turn is at its end.', {
      hint: 'Read the Task again: what it does next may be steered.',
    });
  // Sent or not, nobody can say any more.
  if (over && outcome !== 'delivered') return { member_id: member, status: 'uncertain' };
  return { member_id: member, status: outcome ?? 'queued' };
}

async function saidBefore(
  queries: Queries,
  { task_id, member_id, action_id, message }: Input,
): Promise<SteerRow | undefined> {
  const said = await queries.first(steerSql.find, { action_id });
  if (!said) return undefined;
  if (said.task === task_id && said.member === member_id && said.message === message) return said;
  throw new FarmError('conflict', 'This action was used for another message.', {
    hint: 'Read the Task again and take the action from there.',
  });
}

async function offered(queries: Queries, task: TaskRow, { member_id, action_id }: Input) {
  const action = (await steerActions(queries, task)).find((each) => each.action_id === action_id);
  if (action?.member === member_id) return action;
  throw new FarmError('conflict', 'This member can not be told anything now, or the Task is not as you saw it.', {
    hint: 'Read the Task again: a member at work has a `steer_action`.',
  });
}
