import type { z } from 'zod';
import type { Contract, InputOf, OutputOf, Preview } from '#contracts';
import type { Transaction } from '#store';
import { checkDefinition } from './definition/check-definition.js';
import { type JsonSchema, schemasOf, versionOf } from './definition/json-schema.js';
import { InputReader } from './input-reader.js';
import type { Door, JobClaims, PersonRole, Principal } from './principal.js';

/** Which principals see it: each catalogue is its own world (design §3). */
export type Catalogue = 'job' | 'member' | 'operator' | 'admin';

/** `send` is reserved and refused for everyone; `protocol` is the closed list of job and member operations (A2.10, A5.13). */
export type OperationClass = 'read' | 'mutate' | 'protocol' | 'send';

/** Most that may be offered over MCP: not at all, when turned on, by default (A3.1). */
export type Ceiling = 'never' | 'off' | 'on';

export interface Access {
  readonly catalogue: Catalogue;
  readonly class: OperationClass;
  readonly ceiling: Ceiling;
  /** Every call leaves a row, whatever its class. Protocol operations must say so. */
  readonly audit?: 'always';
  /** The least role of a person that may call it. Default: viewer for reads, operator for mutations, admin in the admin catalogue. */
  readonly role?: PersonRole;
  /** Whether a person must confirm the mutation (A6.1). Default: ask. */
  readonly consent?: 'ask' | 'implied';
  /** Whether a mutation may end or overwrite what is there. Default: true. Told to agents, who are given nothing by it (A8.9). */
  readonly destructive?: boolean;
  /** Whether the same call again changes nothing more. Default: false. */
  readonly idempotent?: boolean;
  /** The answer holds a one-time secret: it is never kept in a receipt (H41). */
  readonly answer?: 'secret';
  /** What an agent proposes waits for a person who approves it; the agent's own second look does not suffice (A1.9). */
  readonly approval?: 'person';
  /** The plugin that it is of: the operation is named `<plugin>.<name>`. */
  readonly plugin?: string;
  /** The farm itself may run it, by the door `internal`, where nobody confirms (A1.7). */
  readonly internal?: true;
}

/** What a call leaves in the audit beside its own row. */
export interface AuditNotes {
  /** Under which lease the call was made, however it ends. */
  under(lease: AuditedLease): void;
  /** Rows in place of the call's own; none for what is counted elsewhere (A7.9). */
  instead(leases: readonly AuditedLease[]): void;
  /** A further row, of another kind of call. */
  also(operation: string, lease: AuditedLease): void;
}

export interface AuditedLease {
  readonly job: string;
  readonly epoch: number;
  /** How many calls the row stands for. */
  readonly count?: number;
}

/** One call, on its way through the gate. */
export interface Call<Services> {
  readonly services: Services;
  readonly principal: Principal;
  readonly door: Door;
  /** Of the job token beside the worker's own, checked to be this worker's (D17). Always there for member operations. */
  readonly job?: JobClaims;
  /** Idempotency key: a repeated call with it is answered and not done again. */
  readonly callId?: string;
  /** Says what the audit writes of this call. */
  readonly audit: AuditNotes;
  /** Milliseconds of the process's monotonic clock. */
  readonly startedAt: number;
  /** The caller has gone. */
  readonly signal: AbortSignal;
}

/**
 * The rule behind a contract.
 *
 *  prepare  disk, git, waiting: outside any transaction, safe to repeat
 *  lock     takes the locks that `run` takes: before a confirmed call looks once more at what it would change (A6.16)
 *  preview  says what `run` would do, all of it; read only
 *  run      everything that changes, in one transaction with its audit row; READ ONLY for class read (A2.11, A7.8)
 *  waits    for a long poll: an attempt that it lets wait leaves no audit row. A call that may share a transaction (`together`) may
 *           make one more attempt within that of whoever it waits for (`ride`)
 *  follow   waits a little for what the commit has set going; repeated calls follow it, too
 *  together does for several calls of one moment what `run` does for one, in one transaction; for the job catalogue, whose calls have no
 *           receipts. Nothing where a call must be run alone: whatever takes a lock that others wait for, or is in doubt
 */
export interface Rule<Services, Input, Output, Prepared> {
  prepare?(input: Input, call: Call<Services>): Promise<Prepared>;
  lock?(input: Input, call: Call<Services>, tx: Transaction): Promise<void>;
  preview?(input: Input, call: Call<Services>, tx: Transaction): Promise<Preview>;
  /** The effect is had in `prepare`, outside of our database: announced in the audit before it, told after it (A7.8). */
  readonly actsInPrepare?: true;
  run(input: Input, prepared: Prepared, call: Call<Services>, tx: Transaction): Promise<Output>;
  /** An answer that may wait for a better one: what to wait for, outside any transaction, before `run` is tried again. */
  waits?(
    input: Input,
    output: Output,
    call: Call<Services>,
  ): ((ride: Ride<Output> | undefined) => Promise<void>) | undefined;
  together?(calls: readonly TypedCall<Services, Input>[], tx: Transaction): Promise<readonly (Output | undefined)[]>;
  /** An effect that others finish: what it has come to, after the commit, in place of the answer; none: the answer stands. Read only. */
  follow?(input: Input, call: Call<Services>): Promise<Output | undefined>;
}

/**
 * One attempt of a call that waits, within a transaction of somebody else, and its audit row with it: the call's answer when the wait
 * ends after that commit. Nothing: nothing was done, and the call tries again by itself.
 */
type Ride<Output> = (tx: Transaction) => Promise<Output | undefined>;

export interface TypedCall<Services, Input> {
  readonly input: Input;
  readonly call: Call<Services>;
}

export interface SharedCall<Services> {
  readonly read: ReadInput<Services>;
  readonly call: Call<Services>;
}

/** An operation whose input has been read: nothing of it is parsed twice. */
export interface ReadInput<Services> {
  /** Parsed, defaults filled in. For the hash only. */
  readonly value: unknown;
  lock?(call: Call<Services>, tx: Transaction): Promise<void>;
  preview?(call: Call<Services>, tx: Transaction): Promise<Preview>;
  /** What the effect has come to since the commit; undefined: the answer stands. */
  follow?(call: Call<Services>): Promise<unknown>;
  /** Answers what runs in the transaction. */
  prepare(call: Call<Services>): Promise<(tx: Transaction) => Promise<Attempt>>;
}

export interface Attempt {
  /** Fits the contract; an output that does not has thrown `invalid_output`. */
  readonly output: unknown;
  /** Set when the call may wait and try again. */
  readonly wait: ((ride: Ride<Attempt> | undefined) => Promise<void>) | undefined;
}

export type ReadOutcome<Services> =
  | { readonly ok: true; readonly read: ReadInput<Services> }
  | { readonly ok: false; readonly issues: readonly z.core.$ZodIssue[] };

/** What has no default. */
type Unsaid = 'audit' | 'answer' | 'approval' | 'plugin' | 'internal';

export interface Operation<Services> {
  readonly name: string;
  readonly group: string;
  readonly summary: string;
  readonly contract: Contract;
  readonly access: Required<Omit<Access, Unsaid>> & Pick<Access, Unsaid>;
  /** JSON Schema 2020-12, made once when the module loads (S2). */
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  /** Names the input schema: a confirmation holds under the one that it was given for (A6.7). */
  readonly inputVersion: string;
  readonly hasPreview: boolean;
  readonly actsInPrepare: boolean;
  readInput(input: unknown): ReadOutcome<Services>;
  /** For calls whose input this operation has read. Nothing where one must be run alone. */
  together?(calls: readonly SharedCall<Services>[], tx: Transaction): Promise<readonly (Attempt | undefined)[]>;
}

const defaultRole = (access: Access): PersonRole => {
  if (access.catalogue === 'admin') return 'admin';
  return access.class === 'read' ? 'viewer' : 'operator';
};

/** The function that states operations over these services. A broken definition throws while its module is imported (A2.0). */
export function operationFor<Services>() {
  return function operation<C extends Contract, Prepared = undefined>(
    contract: C,
    access: Access,
    rule: Rule<Services, InputOf<C>, OutputOf<C>, Prepared>,
  ): Operation<Services> {
    checkDefinition(contract, access, rule.preview !== undefined);
    const schemas = schemasOf(contract);
    const reader = new InputReader<Services, C['input'], C['output'], Prepared>(contract, rule);
    return {
      name: contract.name,
      group: contract.group,
      summary: contract.summary,
      contract,
      access: { role: defaultRole(access), consent: 'ask', destructive: true, idempotent: false, ...access },
      ...schemas,
      inputVersion: versionOf(schemas.inputSchema),
      hasPreview: rule.preview !== undefined,
      actsInPrepare: rule.actsInPrepare === true,
      readInput: (given) => reader.read(given),
      ...(rule.together && { together: (calls, tx) => reader.together(calls, tx) }),
    };
  };
}
