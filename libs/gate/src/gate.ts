import { FarmError } from '#contracts';
import type { Database, Transaction } from '#store';
import type { AccessRows } from './access/access-rows.js';
import { type Asked, Confirmations, type Consent, NotAsProposed, type Presented } from './access/confirmation.js';
import { type Asker, exposureOf } from './access/exposure.js';
import { type GateRules, gateRules } from './access/gate-rules.js';
import { openAccess, Withdrawn } from './access/open-access.js';
import { AuditTrail } from './audit/audit-trail.js';
import { CallRun } from './call-run.js';
import { farmErrorOf } from './farm-error-of.js';
import { invalidInput } from './input-errors.js';
import type { InputHasher } from './keys/farm-keys.js';
import type { Metrics } from './metrics.js';
import type { Call, Operation, ReadInput } from './operation.js';
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

/** What step 1 let through, and by which rows. */
interface Judged<Services> {
  readonly operation: Operation<Services>;
  readonly rows: AccessRows;
}

type Step = 'exposure' | 'input' | 'class' | 'confirmation' | 'run';

class OpenGate<Services> implements Gate<Services> {
  private readonly refusals;
  private readonly confirmations;
  private readonly access;
  private readonly step5;

  constructor(private readonly options: GateOptions<Services>) {
    const { database, inputs, metrics, rules = gateRules } = options;
    this.confirmations = new Confirmations({ database, inputs, rules });
    this.access = openAccess(database);
    this.refusals = metrics.counter(
      'longshore_gate_refusals_total',
      'Calls that the gate refused, by door, step and code.',
    );
    this.step5 = new CallRun({ ...options, access: this.access, confirmations: this.confirmations });
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
      const output = await this.step5.run({ ...asked, rows, trail, consent });
      return (await this.step5.follow(asked)) ?? output;
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
      throw this.refuse(request, 'confirmation', this.step5.faultOr(error, asked.operation), asked.operation);
    }
  }

  private refuse(request: GateCall, step: Step, error: FarmError, operation?: Operation<Services>): FarmError {
    // Step 1 is counted without a name: a counter must not tell which names exist (A5.14).
    this.refusals.add({ door: request.door, step, code: error.code, ...(operation && { operation: operation.name }) });
    return error;
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

/** To a person at its own door, who may know what there is (A3.11). */
function outOfRole(role: string): FarmError {
  return new FarmError('not_allowed', undefined, {
    hint: `It takes the role ${role}; an admin gives roles with \`longshore person set-role\`.`,
  });
}

function failed(error: unknown): never {
  throw farmErrorOf(error);
}
