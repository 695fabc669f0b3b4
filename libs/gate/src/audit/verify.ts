import { type AuditFault, limits } from '#contracts';
import type { Queries } from '#store';
import type { AuditKey } from '../keys/farm-keys.js';
import { auditSql, type SealedRow, type SealRow } from '../sql/audit.js';
import { type Head, isHead, lossName } from './audit-head.js';
import { sealOf } from './seal.js';
import { otherKey } from './sealer.js';

export interface Verification {
  /** Sealed rows that were looked at. */
  readonly checked: number;
  readonly faults: readonly AuditFault[];
  /** Rows that wait for their seal. */
  readonly waiting: number;
  /** Number of the seal to go on behind; null: this was the end. */
  readonly next: number | null;
}

/** Rows that are read at once. */
const page = 2000;

/**
 * Walks along the chain from behind a seal, so far as one call may. What else can be wrong is looked at where the chain ends.
 * @param head as the file said before the walk began: it is never ahead of the chain then
 */
export async function verifyAudit(
  queries: Queries,
  key: AuditKey,
  head: Head | undefined,
  after: number,
): Promise<Verification> {
  const walk = new Walk(key, after === 0 ? undefined : await queries.first(auditSql.seal, { n: after }), after);
  const { waiting } = (await queries.first(auditSql.countUnsealed)) ?? { waiting: 0 };
  for (;;) {
    const rows = await queries.all(auditSql.sealed, { after: walk.at, limit: page });
    for (const row of rows) walk.step(row);
    if (rows.length < page) break;
    if (walk.checked >= limits.auditVerifyRows || walk.faults.length >= limits.pageMax)
      return { checked: walk.checked, faults: cut(walk.faults), waiting, next: walk.at };
  }
  const faults = [...walk.faults, ...(await endFaults(queries, head, walk.at)), ...(await rowFaults(queries))];
  return { checked: walk.checked, faults: cut(faults), waiting, next: null };
}

class Walk {
  readonly faults: AuditFault[] = [];
  checked = 0;

  constructor(
    private readonly key: AuditKey,
    /** Nothing: the seal before is missing, and what it held can not be known. */
    private before: SealRow | undefined,
    /** Number of the last seal that was looked at. */
    public at: number,
  ) {}

  step(row: SealedRow): void {
    if (row.key_id !== this.key.id && this.checked === 0) throw otherKey();
    const follows = row.n === this.at + 1 && (row.n === 1 || this.before !== undefined);
    if (row.n !== this.at + 1)
      this.note('seal_removed', null, this.at + 1, `Seals ${this.at + 1} to ${row.n - 1} are gone`);
    if (row.lost !== null) this.note('cut_off', null, row.n, lossDetail(row.lost));
    if (row.content === null) this.note('removed', row.seq, row.n, `Row ${row.seq} is gone`);
    else if (follows && !this.holds(row, row.content))
      this.note('altered', row.seq, row.n, `Row ${row.seq} or its seal was changed`);
    this.before = row;
    this.at = row.n;
    this.checked += 1;
  }

  private holds(row: SealedRow, content: string): boolean {
    return sealOf(this.key, this.before?.mac, { ...row, content }).equals(row.mac);
  }

  private note(kind: AuditFault['kind'], seq: number | null, seal: number, detail: string): void {
    this.faults.push({ kind, seq, seal, detail });
  }
}

/** Whether the chain still has the end that the file knows. */
async function endFaults(queries: Queries, head: Head | undefined, last: number): Promise<readonly AuditFault[]> {
  if (head === undefined || isHead(head, await queries.first(auditSql.seal, { n: head.n }))) return [];
  const lost = lossName(head);
  // Told already, by the seal that recorded it.
  if (await queries.first(auditSql.loss, { lost })) return [];
  return [{ kind: 'cut_off', seq: null, seal: Math.min(last + 1, head.n), detail: lossDetail(lost) }];
}

async function rowFaults(queries: Queries): Promise<readonly AuditFault[]> {
  const limit = limits.pageMax;
  const removed = await queries.all(auditSql.removedUnsealed, { limit });
  const never = await queries.all(auditSql.neverSealed, { limit });
  return [
    ...removed.map(({ seq }) => ({ kind: 'removed' as const, seq, seal: null, detail: `Row ${seq} is gone` })),
    ...never.map(({ seq }) => ({
      kind: 'never_sealed' as const,
      seq,
      seal: null,
      detail: `Row ${seq} was kept from its seal`,
    })),
  ];
}

function lossDetail(lost: string): string {
  const [n] = lost.split(':');
  return `The chain went on to seal ${n}, which is not there: its end was cut off, or an older copy was put back`;
}

const cut = (faults: readonly AuditFault[]) => faults.slice(0, limits.pageMax);
