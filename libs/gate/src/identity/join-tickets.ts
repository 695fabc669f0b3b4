import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { FarmError, limits } from '#contracts';
import type { Queries, Transaction } from '#store';
import { gateSql } from '../sql/gate.js';

/** What a machine gets when it joins, fixed by who invited it (H26). */
export interface Invitation {
  readonly pool: string;
  readonly project?: string | undefined;
  readonly labels: readonly string[];
  readonly slots: number;
  readonly name?: string | undefined;
}

const BoundTo = z.object({
  pool: z.string(),
  project: z.string().exactOptional(),
  labels: z.array(z.string()),
  slots: z.int(),
  name: z.string().exactOptional(),
});

const secretBytes = 24;
const ticketText = /^ls-join\.([A-Za-z0-9_-]{32})\.([A-Za-z0-9_-]{43})$/;

/** Makes a ticket: 192 random bits, kept as a hash only, with the fingerprint of the key that its controller must show (H36). */
export async function writeJoinTicket(tx: Transaction, invitation: Invitation, fingerprint: string): Promise<string> {
  const secret = randomBytes(secretBytes).toString('base64url');
  await tx.run(gateSql.insertJoinTicket, {
    hash: hashOf(secret),
    bound_to: JSON.stringify(invitation),
    seconds: limits.joinTicketSeconds,
  });
  return `ls-join.${secret}.${fingerprint}`;
}

/**
 * Takes the ticket for the first public key that shows it. Errors: FarmError wrong_fingerprint, ticket_invalid; the same words
 * for unknown, used and expired.
 */
export async function takeJoinTicket(
  tx: Queries,
  ticket: string,
  publicKey: string,
  fingerprint: string,
): Promise<Invitation> {
  const [, secret, named] = ticketText.exec(ticket) ?? [];
  if (secret === undefined) throw invalid();
  if (named !== fingerprint)
    throw new FarmError('wrong_fingerprint', undefined, {
      hint: 'Take the address and the ticket from the same farm.',
    });
  const taken = await tx.first(gateSql.takeJoinTicket, { hash: hashOf(secret), public_key: publicKey });
  if (!taken) throw invalid();
  return BoundTo.parse(taken.bound_to);
}

function invalid(): FarmError {
  return new FarmError('ticket_invalid', undefined, {
    hint: 'Make a new one with `longshore worker invite`; it holds for ten minutes and one machine.',
  });
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
