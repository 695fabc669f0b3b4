import { FarmError, type humanRequestRespond, type InputOf, type OutputOf, type Preview } from '#contracts';
import type { Queries, Transaction } from '#store';
import type { Actor } from '../api.js';
import type { TeamParts } from '../parts.js';
import type { HumanRequestRow } from '../sql/human-request.js';
import { lockTask } from '../task/lock-task.js';
import { checkResponses } from './check-responses.js';
import { requestAction } from './request-actions.js';
import { resolveRequest } from './resolve-request.js';
import { findRequest } from './view-requests.js';

type Input = InputOf<typeof humanRequestRespond>;

/** A person answers, or says that there will be no answer; the first word counts. @throws not_found, conflict, invalid_input */
export async function respond(
  parts: TeamParts,
  tx: Transaction,
  actor: Actor,
  input: Input,
): Promise<OutputOf<typeof humanRequestRespond>> {
  const task = await lockTask(tx, input.task_id);
  const request = await offered(tx, input);
  if (task.status !== 'running' && task.status !== 'paused') throw movedOn();
  const answered = input.input.kind === 'answer';
  const item_responses = input.input.kind === 'answer' ? input.input.item_responses : [];
  if (answered) checkResponses(request.items, item_responses);
  const kind = answered ? 'answered' : 'cancelled';
  const first = await resolveRequest(parts, tx, task, request, { kind, item_responses, by: actor.principal });
  if (!first) throw movedOn();
  return { request_id: request.id, status: kind, continuation_pending: task.status === 'paused' };
}

/** What the answer would do, for an agent that must ask first. @throws not_found, conflict, invalid_input */
export async function previewResponse(tx: Queries, input: Input): Promise<Preview> {
  const request = await offered(tx, input);
  const answered = input.input.kind === 'answer';
  if (input.input.kind === 'answer') checkResponses(request.items, input.input.item_responses);
  const after = answered ? 'answered' : 'cancelled';
  return {
    summary: answered ? `Answers what ${request.member} asks` : `Tells ${request.member} that there will be no answer`,
    changes: [{ id: request.id, before: { status: 'open' }, after: { status: after } }],
  };
}

async function offered(queries: Queries, { task_id, request_id, action_id, input }: Input): Promise<HumanRequestRow> {
  const request = await findRequest(queries, task_id, request_id);
  if (requestAction(request, input.kind) !== action_id) throw movedOn();
  return request;
}

function movedOn(): FarmError {
  return new FarmError('conflict', 'This request is not open any more, or not as you saw it.', {
    hint: 'Read the Task again and take the action from there.',
  });
}
