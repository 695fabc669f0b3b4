import { FarmError } from '#contracts';
import type { Database, Transaction } from '#store';
import type { AuditKey } from '../keys/farm-keys.js';
import { auditSql, type SealRow } from '../sql/audit.js';
import { type Head, type HeadFile, isHead, lossName } from './audit-head.js';
import { sealOf } from './seal.js';

/** Rows that are sealed in one transaction, and transactions of one look: what then still waits is for the next. */
const batch = 1000;
const batches = 50;

/**
 * Seals what waits, row by row in one chain. Any number of controllers may look at once: one of them has the lock and the others
 * find nothing to do. Answers how many rows it sealed. Errors: FarmError misconfigured with another key than the chain's.
 */
export async function sealAudit(database: Database, key: AuditKey, file: HeadFile): Promise<number> {
  let sealed = 0;
  for (let n = 0; n < batches; n += 1) {
    const rows = await database.transaction((tx) => sealBatch(tx, key, file));
    sealed += rows;
    // What came meanwhile has time until the next look: at load each batch would find a few.
    if (rows < batch) break;
  }
  if (sealed > 0) await database.transaction((tx) => tellEnd(tx, key, file));
  return sealed;
}

/** The file knows the newest seal that is committed. */
async function tellEnd(tx: Transaction, key: AuditKey, file: HeadFile): Promise<void> {
  const lock = await tx.first(auditSql.lockSeals);
  if (lock?.mine) await readChain(tx, key, file);
}

async function sealBatch(tx: Transaction, key: AuditKey, file: HeadFile): Promise<number> {
  const lock = await tx.first(auditSql.lockSeals);
  if (!lock?.mine) return 0;
  const { last, lost } = await readChain(tx, key, file);
  const rows = await tx.all(auditSql.unsealed, { limit: batch });
  if (rows.length === 0) return 0;
  const seqs = rows.map(({ seq }) => seq);
  await tx.run(auditSql.insertSeals, {
    after: last?.n ?? 0,
    seqs,
    macs: chain(key, last, lost, rows),
    key_id: key.id,
    lost,
  });
  await tx.run(auditSql.forgetUnsealed, { seqs });
  return rows.length;
}

/** Where the chain ends, and what is lost of it. Under the seals' lock: the file is told of what it did not know yet. */
async function readChain(
  tx: Transaction,
  key: AuditKey,
  file: HeadFile,
): Promise<{ readonly last: SealRow | undefined; readonly lost: string | null }> {
  const last = await tx.first(auditSql.lastSeal);
  if (last && last.key_id !== key.id) throw otherKey();
  const head = await file.read();
  const lost = await lossOf(tx, head);
  if (lost === null && last && !isHead(head, last)) await file.write(last);
  return { last, lost };
}

function chain(
  key: AuditKey,
  last: SealRow | undefined,
  lost: string | null,
  rows: readonly { readonly content: string }[],
): readonly Buffer[] {
  const macs: Buffer[] = [];
  for (const [place, { content }] of rows.entries()) {
    const n = (last?.n ?? 0) + place + 1;
    const before = macs.at(-1) ?? last?.mac;
    macs.push(sealOf(key, before, { n, key_id: key.id, lost: place === 0 ? lost : null, content }));
  }
  return macs;
}

/**
 * The head that the file names and the database does not have: the end was cut off, or an older copy was put back. The next seal
 * says so for good, and the file is not written before.
 */
async function lossOf(tx: Transaction, head: Head | undefined): Promise<string | null> {
  if (head === undefined || isHead(head, await tx.first(auditSql.seal, { n: head.n }))) return null;
  const lost = lossName(head);
  return (await tx.first(auditSql.loss, { lost })) ? null : lost;
}

export function otherKey(): FarmError {
  return new FarmError('misconfigured', 'The audit was sealed with another key than this controller has', {
    hint: 'All controllers need the same keys folder: put back keys/audit.json from a copy.',
  });
}
