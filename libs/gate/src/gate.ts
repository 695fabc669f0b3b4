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
import { type Asked, Confirmations, type Consent, NotAsProposed, type Presented } from './access/confirmation.js';
import { type Asker, exposureOf } from './access/exposure.js';
import { type GateRules, gateRules } from './access/gate-rules.js';
import { openAccess, Withdrawn } from './access/open-access.js';
import { AuditTrail } from './audit/audit-trail.js';
import { farmErrorOf } from './farm-error-of.js';
import { invalidInput } from './input-errors.js';
import type { InputHasher } from './keys/farm-keys.js';
import type { Metrics } from './metrics.js';
import type { Attempt, Call, Operation, ReadInput, SharedCall } from './operation.js';
import { actOutside } from './outside-effect.js';
import { callerOf, type Door, type JobClaims, type Principal } from './principal.js';
import type { Registry } from './registry.js';

export interface GateCall {
  readonly door: Door;
  readonly principal: Principal;
  /** Of the job token beside a worker's own, checked to be this worker's. */
  readonly job?: JobClaims;
  readonly name: string;
  readonly input: unknown;
  /** A person means exactly this call (A6.1). */
  readonly confirm?: boolean;
  /** An agent's second call, with the token of its proposal (A6.6). */
  readonly confirmationToken?: string;
  readonly callId?: string;
  readonly signal: AbortSignal;
}

export interface Gate<Services> {
  /** What the operation answers. Errors: FarmError, and nothing else. */
  call(request: GateCall): Promise<unknown>;
  /** What this caller may call: the predicate is the call's own (A5.5). */
  offeredTo(asker: Asker): Promise<readonly Operation<Services>[]>;
}

export interface GateOptions<Services> {
  readonly registry: Registry<Services>;
  readonly services: Services;
  readonly database: Database;
  readonly inputs: InputHasher;
  readonly metrics: Metrics;
  /** Default: `gateRules`. */
  readonly rules?: GateRules;
  /**
   * Errors: FarmError stale_lease. Before a kept answer of a member operation is given again: a machine that woke up late gets
   * no answer of its past either.
   */
  readonly checkLease?: (tx: Transaction, principal: Principal, job: JobClaims) => Promise<void>;
  /** A fault of ours, which the caller is told nothing of. */
  readonly onFault?: (error: unknown, operation: string) => void;
}

/** One gate for all doors: exposure, input, class, confirmation, then run, check, audit (A5). */
export function openGate<Services>(options: GateOptions<Services>): Gate<Services> {
  return new OpenGate(options);
}

/** Calls that share a transaction at most; how long they may keep the next ones waiting. */
const sharing = { most: 64, lateMs: 50 } as const;

/** A call that may share its transaction. */
interface Sharing<Services> extends SharedCall<Services> {
  readonly operation: Operation<Services>;
  readonly trail: AuditTrail;
  readonly rows: AccessRows;
}

/** What step 1 let through, and by which rows. */
interface Judged<Services> {
  readonly operation: Operation<Services>;
  readonly rows: AccessRows;
}

/** What every step before let through, on its way through step 5. */
interface Running<Services> extends Asked<Services> {
  /** By which rows it was let through. */
  readonly rows: AccessRows;
  readonly trail: AuditTrail;
  readonly consent: Consent | undefined;
}

type Step = 'exposure' | 'input' | 'class' | 'confirmation' | 'run';

class OpenGate<Services> implements Gate<Services> {
  private readonly refusals;
  private readonly calls;
  private readonly share;
  private readonly confirmations;
  private readonly access;

  constructor(private readonly options: GateOptions<Services>) {
    const { database, inputs, metrics, rules = gateRules } = options;
    this.confirmations = new Confirmations({ database, inputs, rules });
    this.access = openAccess(database);
    this.refusals = metrics.counter(
      'longshore_gate_refusals_total',
      'Calls that the gate refused, by door, step and code.',
    );
    this.calls = metrics.counter('longshore_gate_calls_total', 'Calls that ran, by operation and outcome.');
    this.share = gather({
      ...sharing,
      kindOf: ({ operation }: Sharing<Services>) => operation,
      together: (calls) => this.together(calls),
    });
  }

  async offeredTo(asker: Asker): Promise<readonly Operation<Services>[]> {
    const rows = await this.access.readNow(asker);
    return this.options.registry.all.filter((operation) => exposureOf(operation, asker, rows) === 'offered');
  }

  async call(request: GateCall): Promise<unknown> {
    const presented = await this.takeToken(request);
    const { operation, rows } = await this.expose(request);
    const read = this.readInput(operation, request);
    if (operation.access.class === 'send')
      throw this.refuse(request, 'class', new FarmError('send_refused'), operation);
    const trail = new AuditTrail(
      { operation: operation.name, door: request.door, principal: request.principal, input: read.value },
      this.options.inputs,
    );
    const call = this.callOf(request, trail);
    const asked = { operation, read, call };
    const consent = await this.confirm(asked, request, presented);
    try {
      const output = await this.run({ ...asked, rows, trail, consent });
      return (await this.follow(asked)) ?? output;
    } catch (error) {
      if (error instanceof Withdrawn) throw this.refuse(request, 'exposure', new FarmError('not_available'));
      if (error instanceof NotAsProposed) throw this.refuse(request, 'confirmation', error.refusal, operation);
      throw error;
    }
  }

  private callOf(request: GateCall, audit: AuditTrail): Call<Services> {
    const { principal, door, job, callId, signal } = request;
    if (job) audit.under({ job: job.job, epoch: job.epoch });
    return {
      services: this.options.services,
      principal,
      door,
      ...(job && { job }),
      ...(callId !== undefined && { callId }),
      audit,
      startedAt: performance.now(),
      signal,
    };
  }

  /** Before step 1: whatever ends the call, the token is burned (A6.11). */
  private async takeToken({ confirmationToken }: GateCall): Promise<Presented | undefined> {
    if (confirmationToken === undefined) return undefined;
    try {
      return await this.confirmations.take(confirmationToken);
    } catch (error) {
      throw farmErrorOf(error);
    }
  }

  /** Step 1. A name that does not exist is answered like one that is hidden (A5.2); the input is not looked at (A5.11). */
  private async expose(request: GateCall): Promise<Judged<Services>> {
    const operation = this.options.registry.find(request.name);
    let rows = await this.access.snapshot(request).catch(failed);
    let exposure = exposureOf(operation, request, rows);
    // What is remembered for workers refuses nobody by itself.
    if (exposure !== 'offered' && request.door === 'node') {
      rows = await this.access.readNow(request).catch(failed);
      exposure = exposureOf(operation, request, rows);
    }
    if (operation && exposure === 'offered') return { operation, rows };
    const refusal =
      operation && exposure === 'not_allowed' ? outOfRole(operation.access.role) : new FarmError('not_available');
    throw this.refuse(request, 'exposure', refusal);
  }

  /** Step 2. */
  private readInput(operation: Operation<Services>, request: GateCall): ReadInput<Services> {
    const misplaced = misplacedConsent(request);
    if (misplaced) throw this.refuse(request, 'input', misplaced, operation);
    const outcome = operation.readInput(request.input);
    if (outcome.ok) return outcome.read;
    throw this.refuse(request, 'input', invalidInput(operation.contract.input, outcome.issues), operation);
  }

  /** Step 4. */
  private async confirm(
    asked: Asked<Services>,
    request: GateCall,
    presented: Presented | undefined,
  ): Promise<Consent | undefined> {
    try {
      return await this.confirmations.judge(asked, request.confirm === true, presented);
    } catch (error) {
      throw this.refuse(request, 'confirmation', this.faultOr(error, asked.operation), asked.operation);
    }
  }

  /** Step 5. */
  private async run(running: Running<Services>): Promise<unknown> {
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
  private async follow({ operation, read, call }: Asked<Services>): Promise<unknown> {
    try {
      return await read.follow?.(call);
    } catch (error) {
      throw this.faultOr(error, operation);
    }
  }

  private actOutside(running: Running<Services>): Promise<unknown> {
    const { database, inputs } = this.options;
    const needs = { database, inputs, access: this.access, confirmations: this.confirmations };
    return actOutside(needs, { ...running, receipt: receiptOf(running.operation, running.call) });
  }

  private async untilFinal(running: Running<Services>): Promise<unknown> {
    const { operation, read, call, trail } = running;
    // Workers' calls alone: what an agent may do is read for each of its calls.
    const mayShare = call.door === 'node' && operation.together !== undefined;
    let { rows } = running;
    let work: ((tx: Transaction) => Promise<Attempt>) | undefined;
    for (;;) {
      trail.restart();
      let attempt = mayShare ? await this.share({ operation, read, call, trail, rows }) : undefined;
      if (!attempt) {
        trail.restart();
        work ??= await this.prepare(running);
        attempt = await this.alone({ ...running, rows }, work);
      }
      if (!attempt.wait) return attempt.output;
      await attempt.wait();
      rows = await this.access.snapshot(call);
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
      await this.confirmations.check(tx, consent, running);
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
        this.access.stillOffered(tx, operation, call, rows),
        consent && this.confirmations.beginReceipt(tx, consent),
        receipt ? this.once(operation, receipt, call, trail, tx, work, read.value) : work(tx),
      ]);
      if (!receipt && !attempt.wait && isAudited(operation)) AuditTrail.write(tx, [trail]);
      if (consent) this.confirmations.keepReceipt(tx, consent, operation, attempt.output);
      // The last moment before COMMIT is sent: from there on it is kept (A7.10).
      if (hasGone(operation, call)) throw new FarmError('cancelled');
      return attempt;
    });
  }

  /** One transaction for all. When it fails, nothing of it stays: each call is run alone, and one fails alone (H13). */
  private async together(calls: readonly Sharing<Services>[]): Promise<readonly (Attempt | undefined)[]> {
    const operation = calls[0]?.operation;
    try {
      return await this.options.database.transaction(async (tx) => {
        const [, attempts = []] = await sentTogether([
          this.access.stillJudged(
            tx,
            calls.map(({ rows }) => rows),
          ),
          operation?.together?.(calls, tx),
        ]);
        const final = calls.filter((_, n) => attempts[n] && !attempts[n].wait);
        AuditTrail.write(
          tx,
          final.map(({ trail }) => trail),
        );
        return attempts;
      });
    } catch {
      return [];
    }
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

  private refuse(request: GateCall, step: Step, error: FarmError, operation?: Operation<Services>): FarmError {
    // Step 1 is counted without a name: a counter must not tell which names exist (A5.14).
    this.refusals.add({ door: request.door, step, code: error.code, ...(operation && { operation: operation.name }) });
    return error;
  }

  /** What is no FarmError is a fault of ours, and its text may hold anything. */
  private faultOr(error: unknown, operation: Operation<Services>): FarmError {
    const failure = farmErrorOf(error);
    if (failure.code === 'invalid_output' || failure.code === 'internal') this.options.onFault?.(error, operation.name);
    return failure;
  }
}

/** People say `confirm`, agents show a token: each is an unknown field to the other (A1.8, A6.18). */
function misplacedConsent({ principal, door, confirm, confirmationToken }: GateCall): FarmError | undefined {
  const { class: by } = callerOf(principal, door);
  if (by !== 'user' && confirm !== undefined)
    return new FarmError('invalid_input', 'Only a person says `confirm`; an agent shows its confirmation token', {
      fields: [{ path: '/confirm', rule: 'unknown_field' }],
    });
  if (by !== 'agent' && confirmationToken !== undefined)
    return new FarmError('invalid_input', 'Only an agent shows a confirmation token; a person says `confirm`', {
      fields: [{ path: '/confirmation_token', rule: 'unknown_field' }],
    });
  return undefined;
}

/** A lease's end is told by machines that come and go: theirs are not undone (T14). */
function hasGone({ access }: Operation<unknown>, { signal }: Call<unknown>): boolean {
  return access.class === 'mutate' && signal.aborted;
}

/** A change that is made elsewhere: no rollback of ours takes it back. */
function isOutside({ access, actsInPrepare }: Operation<unknown>): boolean {
  return access.class === 'mutate' && actsInPrepare;
}

/** To a person at its own door, who may know what there is (A3.11). */
function outOfRole(role: string): FarmError {
  return new FarmError('not_allowed', undefined, {
    hint: `It takes the role ${role}; an admin gives roles with \`longshore person set-role\`.`,
  });
}

function failed(error: unknown): never {
  throw farmErrorOf(error);
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
