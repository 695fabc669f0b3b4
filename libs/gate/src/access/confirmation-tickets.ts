import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { FarmError } from '#contracts';
import type { Queries, Transaction } from '#store';
import { consentSql } from '../sql/consent.js';

/** What a token was given for: it holds for nothing else (A6.6). */
const Bound = z.strictObject({
  operation: z.string(),
  /** Keyed, base64url: neither the input nor the changes can be guessed from a row. */
  input_hash: z.string(),
  digest: z.string(),
  caller: z.string(),
  /** What a person must approve before it holds (A1.9). */
  approval: z.string().optional(),
});
export type Bound = Readonly<z.output<typeof Bound>>;

export interface TakenTicket {
  readonly bound: Bound;
  /** Neither over nor of another life of the farm. */
  readonly live: boolean;
}

interface Issue {
  readonly bound: Bound;
  readonly seconds: number;
  readonly most: number;
}

interface Issued {
  readonly token: string;
  readonly expiresAt: Date;
}

/** 256 random bits, 43 characters; the row has its hash alone (A6.8). @throws too_many_pending */
export async function issueTicket(tx: Transaction, { bound, seconds, most }: Issue): Promise<Issued> {
  const token = randomBytes(32).toString('base64url');
  const { caller } = bound;
  const issued = await tx.first(consentSql.issue, {
    hash: hashOfToken(token),
    caller,
    bound_to: JSON.stringify(bound),
    seconds,
    most,
  });
  if (!issued) throw tooManyPending();
  return { token, expiresAt: issued.expires_at };
}

/** Burns it. Nothing: unknown, used or never given. */
export async function takeTicket(queries: Queries, hash: Buffer): Promise<TakenTicket | undefined> {
  const row = await queries.first(consentSql.take, { hash });
  return row && { bound: Bound.parse(row.bound_to), live: row.live };
}

export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

export function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

export function tooManyPending(): FarmError {
  return new FarmError('too_many_pending', undefined, {
    hint: 'Confirm what was proposed, or let the proposals run out.',
  });
}
