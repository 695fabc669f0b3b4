import { FarmError, type humanRequestAnswerLink, type InputOf, type OutputOf } from '#contracts';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import { humanRequestSql } from '../sql/human-request.js';
import { requestLinkSql } from '../sql/request-link.js';
import { lockTask } from '../task/lock-task.js';
import { hashOfTicket } from './request-link.js';
import { respond } from './respond.js';

/** Who shows a link: a person who has logged in, or nobody that the farm knows. */
export interface LinkBearer {
  readonly person: string | null;
}

/**
 * Answers the one request that the link is bound to, by the rule of every answer, and uses the link up with it: what is refused
 * leaves it good. An approval also needs to know who says it (H44).
 *
 * @throws ticket_invalid, unauthenticated, not_found, conflict, invalid_input
 */
export async function answerByLink(
  parts: TeamParts,
  tx: Transaction,
  { person }: LinkBearer,
  { ticket, ...answer }: InputOf<typeof humanRequestAnswerLink>,
): Promise<OutputOf<typeof humanRequestAnswerLink>> {
  const hash = hashOfTicket(ticket);
  const link = await tx.first(requestLinkSql.read, { hash });
  const request = link && (await tx.first(humanRequestSql.read, { id: link.request }));
  if (!request || request.id !== answer.request_id) throw invalidLink();
  if (request.kind === 'approval' && person === null)
    throw new FarmError('unauthenticated', 'An approval is given by a person whom the farm knows.', {
      hint: 'Open the link in a browser and log in.',
    });
  // The Task before its rows (H12), so that of two answers one waits here and not half-way.
  await lockTask(tx, request.task);
  const used = await tx.first(requestLinkSql.use, { hash, request: request.id });
  if (!used) throw invalidLink();
  return respond(parts, tx, { principal: person ?? used.given_to }, { task_id: request.task, ...answer });
}

function invalidLink(): FarmError {
  return new FarmError('ticket_invalid', 'This link is unknown, used, too old, or of another request.', {
    hint: 'Answer it with longshore task answer <task>.',
  });
}
