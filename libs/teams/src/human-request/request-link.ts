import { createHash } from 'node:crypto';
import { limits } from '#contracts';
import type { Queries } from '#store';
import type { TeamParts } from '../parts.js';
import { requestLinkSql } from '../sql/request-link.js';

/**
 * The ticket of the link that goes out with a delivery: made of its id under a key that is not in the database, so that each try
 * sends the same one and no row holds it.
 */
export function ticketOf({ vault }: Pick<TeamParts, 'vault'>, delivery: string): string {
  return Buffer.from(vault.digest(`request-link/${delivery}`), 'hex').toString('base64url');
}

export function hashOfTicket(ticket: string): Buffer {
  return createHash('sha256').update(ticket).digest();
}

/** Binds the ticket of a delivery to one request and a time (H44). Answers when it ends. */
export async function bindLink(
  parts: Pick<TeamParts, 'vault'>,
  tx: Queries,
  link: {
    readonly delivery: string;
    readonly request: string;
    readonly givenTo: string;
    readonly dueAt: string | null;
  },
): Promise<Date> {
  const bound = await tx.first(requestLinkSql.add, {
    hash: hashOfTicket(ticketOf(parts, link.delivery)),
    request: link.request,
    given_to: link.givenTo,
    due_at: link.dueAt,
    seconds: limits.requestLinkSeconds,
  });
  if (!bound) throw new Error('a link without its row');
  return bound.expires_at;
}
