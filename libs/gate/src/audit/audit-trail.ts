import type { FarmErrorCode } from '#contracts';
import type { Queries, Transaction } from '#store';
import type { InputHasher } from '../keys/farm-keys.js';
import type { AuditedLease, AuditNotes } from '../operation.js';
import { callerOf, type Door, type Principal } from '../principal.js';
import { gateSql } from '../sql/gate.js';

interface AuditedCall {
  readonly operation: string;
  readonly door: Door;
  readonly principal: Principal;
  readonly input: unknown;
}

interface Noted {
  readonly operation: string;
  readonly lease?: AuditedLease;
}

interface AuditRow {
  readonly kind: string;
  readonly door: Door;
  readonly class: string;
  readonly actor: string | null;
  readonly agent: string | null;
  readonly hash: Buffer;
  readonly outcome: string;
  readonly job: string | null;
  readonly epoch: number | null;
  readonly count: number;
}

/** What one call leaves in the audit: who, by which door, which input by its keyed hash, how it ended (A7.4 to A7.7). */
export class AuditTrail implements AuditNotes {
  private rows: readonly Noted[];
  private lease: AuditedLease | undefined;
  private hash: Buffer | undefined;

  constructor(
    private readonly call: AuditedCall,
    private readonly hasher: InputHasher,
  ) {
    this.rows = [{ operation: call.operation }];
  }

  /** The notes of one attempt: those of an attempt that was undone are forgotten. */
  restart(): void {
    this.rows = [{ operation: this.call.operation }];
  }

  under(lease: AuditedLease): void {
    this.lease = lease;
  }

  instead(leases: readonly AuditedLease[]): void {
    this.rows = leases.map((lease) => ({ operation: this.call.operation, lease }));
  }

  also(operation: string, lease: AuditedLease): void {
    this.rows = [...this.rows, { operation, lease }];
  }

  /** Before an effect that can not be rolled back: whatever becomes of us, the audit says that it was begun (A7.8). */
  async writeIntent(tx: Transaction): Promise<void> {
    const intent = this.row({ operation: this.call.operation }, 'intent');
    await tx.run(gateSql.audit, columnsOf([intent], this.hasher.keyId));
  }

  /** In its own transaction, after the rollback (A7.7). */
  async writeFailure(queries: Queries, code: FarmErrorCode): Promise<void> {
    const failed = this.row({ operation: this.call.operation }, code === 'cancelled' ? code : `error:${code}`);
    await queries.run(gateSql.audit, columnsOf([failed], this.hasher.keyId));
  }

  /**
   * With the effect, in its transaction: what can not be audited does not commit (A7.8). One statement for all calls that share
   * the transaction.
   */
  static write(tx: Transaction, trails: readonly AuditTrail[]): void {
    const [first] = trails;
    const rows = trails.flatMap((trail) => trail.rows.map((noted) => trail.row(noted, 'ok')));
    if (first && rows.length > 0) tx.later(gateSql.audit, columnsOf(rows, first.hasher.keyId));
  }

  private row({ operation, lease = this.lease }: Noted, outcome: string): AuditRow {
    const { door, principal, input } = this.call;
    const caller = callerOf(principal, door);
    return {
      kind: `call:${operation}`,
      door,
      class: caller.class,
      actor: caller.actor,
      agent: caller.agent_id,
      hash: this.inputHash(input),
      outcome,
      job: lease?.job ?? null,
      epoch: lease?.epoch ?? null,
      count: lease?.count ?? 1,
    };
  }

  private inputHash(input: unknown): Buffer {
    this.hash ??= this.hasher.hash(this.call.operation, input);
    return this.hash;
  }
}

function columnsOf(rows: readonly AuditRow[], keyId: string) {
  return {
    hash_key_id: keyId,
    kinds: rows.map(({ kind }) => kind),
    doors: rows.map(({ door }) => door),
    classes: rows.map((row) => row.class),
    actors: rows.map(({ actor }) => actor),
    agents: rows.map(({ agent }) => agent),
    hashes: rows.map(({ hash }) => hash),
    outcomes: rows.map(({ outcome }) => outcome),
    jobs: rows.map(({ job }) => job),
    epochs: rows.map(({ epoch }) => epoch),
    counts: rows.map(({ count }) => count),
  };
}
