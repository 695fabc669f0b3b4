import { createHash } from 'node:crypto';
import { canonicalJson, FarmError } from '#contracts';
import type { Queries, Transaction } from './database.js';
import { storeSql } from './sql.js';

/** Whose call it was, of which operation, under which key of the caller's own. */
export interface ReceiptKey {
  readonly caller: string;
  readonly operation: string;
  readonly key: string;
}

export type Receipt = { readonly known: false } | { readonly known: true; readonly reply: unknown };

/**
 * Takes the receipt of a call, first thing in the transaction of the act. Known: the act was done before, answer the kept
 * reply. A twin in flight waits here for the first to commit or roll back.
 *
 * @throws FarmError idempotency_mismatch when the key was used with another input (S3.3, P5)
 */
export async function claimReceipt(tx: Transaction, of: ReceiptKey, input: unknown): Promise<Receipt> {
  const inputHash = hashInput(input);
  if (await tx.first(storeSql.claimReceipt, { ...of, input_hash: inputHash })) return { known: false };
  const kept = await tx.first(storeSql.readReceipt, { ...of });
  if (!kept?.input_hash.equals(inputHash)) {
    throw new FarmError('idempotency_mismatch', undefined, {
      hint: 'Send the same input again, or take a new key for a new call.',
    });
  }
  return { known: true, reply: kept.reply };
}

/** Keeps the answer, with the act, in the same transaction. */
export function keepReply(tx: Transaction, of: ReceiptKey, reply: unknown): void {
  tx.later(storeSql.settleReceipt, { ...of, reply: JSON.stringify(reply) });
}

/** The kept reply of a call, if there was one. */
export async function readReceipt(queries: Queries, of: ReceiptKey): Promise<Receipt> {
  const kept = await queries.first(storeSql.readReceipt, { ...of });
  return kept ? { known: true, reply: kept.reply } : { known: false };
}

/** Drops receipts that nobody can ask for any more. Answers how many. */
export function forgetReceipts(queries: Queries, olderThanHours: number): Promise<number> {
  return queries.run(storeSql.forgetReceipts, { hours: olderThanHours });
}

/** The same for two inputs that are equal as values, whatever the order of their keys. */
function hashInput(input: unknown): Buffer {
  return createHash('sha256').update(canonicalJson(input)).digest();
}
