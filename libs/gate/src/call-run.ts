import { FarmError, type FarmErrorCode } from '#contracts';
import {
  claimReceipt,
  type Database,
  gather,
  keepReply,
  type ReceiptKey,
  sentTogether,
  type Transaction,
} from '#store';
import type { AccessRows } from './access/access-rows.js';
import { type Asked, type Confirmations, type Consent, NotAsProposed } from './access/confirmation.js';
import { exposureOf } from './access/exposure.js';
import { type AccessSource, Withdrawn } from './access/open-access.js';
import { AuditTrail } from './audit/audit-trail.js';
import { farmErrorOf } from './farm-error-of.js';
import type { InputHasher } from './keys/farm-keys.js';
import type { Metrics } from './metrics.js';
import type { Attempt, Call, Operation, SharedCall } from './operation.js';
import { actOutside } from './outside-effect.js';
import type { JobClaims, Principal } from './principal.js';

interface CallRunOptions {
  readonly database: Database;
  readonly inputs: InputHasher;
  readonly metrics: Metrics;
  readonly access: AccessSource;
  readonly confirmations: Confirmations;
  readonly checkLease?: (tx: Transaction, principal: Principal, job: JobClaims) => Promise<void>;
  readonly onFault?: (error: unknown, operation: string) => void;
}

/** Calls that share a transaction at most; how long they may keep the next ones waiting. */
const sharing = { most: 256, lateMs: 50 } as const;

/** A call that may share its transaction. */
interface Sharing<Services> extends SharedCall<Services> {
  readonly operation: Operation<Services>;
  readonly trail: AuditTrail;
  readonly rows: AccessRows;
}

/** What every step before let through, on its way through step 5. */
export interface Running<Services> extends Asked<Services> {
  /** By which rows it was let through. */
  readonly rows: AccessRows;
  readonly trail: AuditTrail;
  readonly consent: Consent | undefined;
}

/** Step 5 of the gate: runs what every step before let through, once, in a transaction, and audits it (A5, A7). */
export class CallRun<Services> {
  private readonly calls;
  private readonly share;

  constructor(private readonly options: CallRunOptions) {
    this.calls = options.metrics.counter('longshore_gate_calls_total', 'Calls that ran, by operation and outcome.');
    this.share = gather({
      ...sharing,
      kindOf: ({ operation }: Sharing<Services>) => operation,
      together: (calls) => this.together(calls),
    });
  }

  /** Audited whatever comes of it. */
  async run(running: Running<Services>): Promise<unknown> {
    const { operation, call, trail } = running;
    try {
      const output = await (isOutside(operation) ? this.actOutside(running) : this.untilFinal(running));
      this.calls.add({ operation: operation.name, outcome: 'ok' });
      return output;
    } catch (error) {
      if (error instanceof Withdrawn || error instanceof NotAsProposed) throw error;
      // What a rule throws because its caller has gone says nothing of the rule.
      const isItsGoing = hasGone(operation, call) && farmErrorOf(error).code === 'internal';
      const failure = isItsGoing ? new FarmError('cancelled') : this.faultOr(error, operation);
      this.calls.add({ operation: operation.name, outcome: failure.code });
      if (isAudited(operation)) await this.auditFailure(trail, failure.code);
      throw failure;
    }
  }

  /** What was done stays done and audited, whatever comes of it. */
  async follow({ operation, read, call }: Asked<Services>): Promise<unknown> {
    try {
      return await read.follow?.(call);
    } catch (error) {
      throw this.faultOr(error, operation);
    }
  }

  private actOutside(running: Running<Services>): Promise<unknown> {
    const { database, inputs, access, confirmations } = this.options;
    const needs = { database, inputs, access, confirmations };
    return actOutside(needs, { ...running, receipt: receiptOf(running.operation, running.call) });
  }

  private async untilFinal(running: Running<Services>): Promise<unknown> {
    const { operation, read, call, trail } = running;
    // Workers' calls alone: what an agent may do is read for each of its calls.
    const mayShare = call.door === 'node' && operation.together !== undefined;
    let { rows } = running;
    let work: ((tx: Transaction) => Promise<Attempt>) | undefined;
    let ridden: Attempt | undefined;
    const ride = async (tx: Transaction): Promise<Attempt | undefined> => {
      const attempt = await this.ride(tx, { operation, read, call, trail, rows });
      tx.afterCommit(() => {
        ridden = attempt;
      });
      return attempt;
    };
    for (;;) {
      trail.restart();
      let attempt = mayShare ? await this.share({ operation, read, call, trail, rows }) : undefined;
      if (!attempt) {
        trail.restart();
        work ??= await this.prepare(running);
        attempt = await this.alone({ ...running, rows }, work);
      }
      if (!attempt.wait) return attempt.output;
      await attempt.wait(mayShare ? ride : undefined);
      if (ridden) return ridden.output;
      rows = await this.options.access.snapshot(call);
      // A change looks again by itself; a look that waited must not see what came after its end (A4.6).
      if (operation.access.class === 'read' && exposureOf(operation, call, rows) !== 'offered') throw new Withdrawn();
    }
  }

  /** What was confirmed is compared with what would be done now, before any of it is done (A6.16). */
  private async prepare(running: Running<Services>): Promise<(tx: Transaction) => Promise<Attempt>> {
    const { read, call, consent } = running;
    if (!consent) return await read.prepare(call);
    const work = await read.prepare(call);
    return async (tx) => {
      await this.options.confirmations.check(tx, consent, running);
      return await work(tx);
    };
  }

  private alone(running: Running<Services>, work: (tx: Transaction) => Promise<Attempt>): Promise<Attempt> {
    const { operation, read, call, trail, rows, consent } = running;
    const { database } = this.options;
    if (operation.access.class === 'read') return database.reading(work);
    const receipt = receiptOf(operation, call);
    return database.transaction(async (tx) => {
      const [, , attempt] = await sentTogether([
        this.options.access.stillOffered(tx, operation, call, rows),
        consent && this.options.confirmations.beginReceipt(tx, consent),
        receipt ? this.once(operation, receipt, call, trail, tx, work, read.value) : work(tx),
      ]);
      if (!receipt && !attempt.wait && isAudited(operation)) AuditTrail.write(tx, [trail]);
      if (consent) this.options.confirmations.keepReceipt(tx, consent, operation, attempt.output);
      // The last moment before COMMIT is sent: from there on it is kept (A7.10).
      if (hasGone(operation, call)) throw new FarmError('cancelled');
      return attempt;
    });
  }

  /** In a transaction of somebody else, who does not fail with it (H13). Nothing where it is not final. */
  private async ride(tx: Transaction, sharing: Sharing<Services>): Promise<Attempt | undefined> {
    sharing.trail.restart();
    const [attempt] = (await tx.attempt(() => this.attempts(tx, [sharing]))) ?? [];
    return attempt?.wait ? undefined : attempt;
  }

  /** One transaction for all. When it fails, nothing of it stays: each call is run alone, and one fails alone (H13). */
  private async together(calls: readonly Sharing<Services>[]): Promise<readonly (Attempt | undefined)[]> {
    try {
      return await this.options.database.transaction((tx) => this.attempts(tx, calls));
    } catch {
      return [];
    }
  }

  /** Of one operation, each audited that is final. Errors: Withdrawn when any was judged by what holds no more (A4.10). */
  private async attempts(
    tx: Transaction,
    calls: readonly Sharing<Services>[],
  ): Promise<readonly (Attempt | undefined)[]> {
    const [, attempts = []] = await sentTogether([
      this.options.access.stillJudged(
        tx,
        calls.map(({ rows }) => rows),
      ),
      calls[0]?.operation.together?.(calls, tx),
    ]);
    const final = calls.filter((_, n) => attempts[n] && !attempts[n].wait);
    AuditTrail.write(
      tx,
      final.map(({ trail }) => trail),
    );
    return attempts;
  }

  /** Done once under its key: a call that is repeated is answered and not done again (D2, S3.3, P5). */
  private async once(
    operation: Operation<Services>,
    receipt: ReceiptKey,
    call: Call<Services>,
    trail: AuditTrail,
    tx: Transaction,
    work: (tx: Transaction) => Promise<Attempt>,
    input: unknown,
  ): Promise<Attempt> {
    const { checkLease, inputs } = this.options;
    const hash = inputs.hash(operation.name, input).toString('base64url');
    const [, kept] = await sentTogether([
      call.job && checkLease?.(tx, call.principal, call.job),
      claimReceipt(tx, receipt, hash),
    ]);
    if (kept.known) return { output: replyOf(operation, kept.reply), wait: undefined };
    const attempt = await work(tx);
    if (isAudited(operation)) AuditTrail.write(tx, [trail]);
    // A one-time secret is never kept (H41): the receipt says that it was given, once.
    keepReply(tx, receipt, operation.access.answer === 'secret' ? null : attempt.output);
    return { output: attempt.output, wait: undefined };
  }

  private async auditFailure(trail: AuditTrail, code: FarmErrorCode): Promise<void> {
    try {
      await trail.writeFailure(this.options.database, code);
    } catch (error) {
      this.options.onFault?.(error, 'audit');
    }
  }

  /** What is no FarmError is a fault of ours, and its text may hold anything. */
  faultOr(error: unknown, operation: Operation<Services>): FarmError {
    const failure = farmErrorOf(error);
    if (failure.code === 'invalid_output' || failure.code === 'internal') this.options.onFault?.(error, operation.name);
    return failure;
  }
}

/** A lease's end is told by machines that come and go: theirs are not undone (T14). */
function hasGone({ access }: Operation<unknown>, { signal }: Call<unknown>): boolean {
  return access.class === 'mutate' && signal.aborted;
}

/** A change that is made elsewhere: no rollback of ours takes it back. */
function isOutside({ access, actsInPrepare }: Operation<unknown>): boolean {
  return access.class === 'mutate' && actsInPrepare;
}

/** Mutations that were let through, and what always is (A7.6). */
function isAudited({ access }: Operation<unknown>): boolean {
  return access.audit === 'always' || access.class === 'mutate';
}

/** The job protocol has receipts of its own: the lease row, the settled row (D12, D13). */
function receiptOf({ name, access }: Operation<unknown>, call: Call<unknown>): ReceiptKey | undefined {
  if (call.callId === undefined || access.catalogue === 'job' || access.class === 'read') return undefined;
  const caller = access.catalogue === 'member' ? call.job?.job : call.principal.id;
  return caller === undefined ? undefined : { caller, operation: name, key: call.callId };
}

function replyOf(operation: Operation<unknown>, reply: unknown): unknown {
  if (operation.access.answer !== 'secret') return reply;
  throw new FarmError('conflict', 'This was done already, and its answer is shown only once', {
    hint: 'Make another one under a new key.',
  });
}
