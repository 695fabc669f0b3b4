import type { FarmErrorCode } from '#contracts';
import type { Queries, Transaction } from '#store';
import type { InputHasher } from '../keys/farm-keys.js';
import type { AuditedLease, AuditNotes } from '../operation.js';
import { classOf, type Door, type Principal } from '../principal.js';
import { gateSql } from '../sql.js';

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

  /** With the effect, in its transaction: what can not be audited does not commit (A7.8). */
  write(tx: Transaction): void {
    for (const row of this.rows) tx.later(gateSql.audit, this.parameters(row, 'ok'));
  }

  /** In its own transaction, after the rollback (A7.7). */
  async writeFailure(queries: Queries, code: FarmErrorCode): Promise<void> {
    await queries.run(gateSql.audit, this.parameters({ operation: this.call.operation }, `error:${code}`));
  }

  private parameters({ operation, lease = this.lease }: Noted, outcome: string) {
    const { door, principal, input } = this.call;
    return {
      kind: `call:${operation}`,
      door,
      class: classOf(principal),
      actor: principal.kind === 'person' ? principal.id : null,
      agent_id: principal.kind === 'person' ? null : principal.id,
      input_hash: this.inputHash(input),
      hash_key_id: this.hasher.keyId,
      outcome,
      job_id: lease?.job ?? null,
      epoch: lease?.epoch ?? null,
      calls: lease?.count ?? 1,
    };
  }

  private inputHash(input: unknown): Buffer {
    this.hash ??= this.hasher.hash(this.call.operation, input);
    return this.hash;
  }
}
