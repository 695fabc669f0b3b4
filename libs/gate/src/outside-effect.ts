import { FarmError } from '#contracts';
import { claimReceipt, type Database, keepReply, type ReceiptKey, type Transaction } from '#store';
import type { AccessRows } from './access/access-rows.js';
import type { Asked, Confirmations, Consent } from './access/confirmation.js';
import type { AccessSource } from './access/open-access.js';
import { AuditTrail } from './audit/audit-trail.js';
import type { InputHasher } from './keys/farm-keys.js';

interface Needs {
  readonly database: Database;
  readonly inputs: InputHasher;
  readonly access: AccessSource;
  readonly confirmations: Confirmations;
}

interface Acting<Services> extends Asked<Services> {
  readonly rows: AccessRows;
  readonly trail: AuditTrail;
  readonly consent: Consent | undefined;
  /** Of a call with a key of its own. */
  readonly receipt: ReceiptKey | undefined;
}

/**
 * A mutation whose effect no transaction of ours can take back. A row of the audit says so before, and one after how it ended; the
 * receipt is taken before, too, so that a repeated call acts no second time (A7.8). The row of a failure is the caller's to write.
 */
export async function actOutside<Services>(needs: Needs, acting: Acting<Services>): Promise<unknown> {
  const { operation, read, call, trail, consent, receipt } = acting;
  const known = await needs.database.transaction((tx) => announce(needs, acting, tx));
  if (known) return known.reply;
  const work = await read.prepare(call);
  return await needs.database.transaction(async (tx) => {
    const { output } = await work(tx);
    AuditTrail.write(tx, [trail]);
    if (consent) needs.confirmations.keepReceipt(tx, consent, operation, output);
    if (receipt) keepReply(tx, receipt, output);
    return output;
  });
}

/** Everything that may still refuse the call, and that it was let through. Answers the kept reply of a call that was made before. */
async function announce<Services>(
  { access, confirmations, inputs }: Needs,
  { operation, read, call, rows, trail, consent, receipt }: Acting<Services>,
  tx: Transaction,
): Promise<{ readonly reply: unknown } | undefined> {
  await access.stillOffered(tx, operation, call, rows);
  if (receipt) {
    const kept = await claimReceipt(tx, receipt, inputs.hash(operation.name, read.value).toString('base64url'));
    if (kept.known) return { reply: replyOf(kept.reply) };
  }
  if (consent) {
    await confirmations.check(tx, consent, { operation, read, call });
    await confirmations.beginReceipt(tx, consent);
  }
  await trail.writeIntent(tx);
  return undefined;
}

function replyOf(reply: unknown): unknown {
  if (reply !== null) return reply;
  throw new FarmError('conflict', 'A call with this key was begun before; whether it was done is not known', {
    hint: 'Look whether it was done. To do it again, take a new key.',
  });
}
