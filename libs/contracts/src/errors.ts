import type { ConfirmedReceipt, Proposal } from './proposal.js';

/**
 * Who must act on an error: the caller changes the call, an admin mends the farm, nobody (it is retried by itself), or us (a bug).
 */
export type WhoActs = 'caller' | 'admin' | 'nobody' | 'us';

interface ErrorCode {
  readonly who: WhoActs;
  /** HTTP status (A10.6). */
  readonly status: number;
  /** Exit code of the command line (A9.4). */
  readonly exit: number;
  /** Constant per code (RFC 9457). */
  readonly title: string;
}

const code = (who: WhoActs, status: number, exit: number, title: string): ErrorCode => ({ who, status, exit, title });

/** Every code that may leave the farm, once. Codes are stable: scripts rely on them. */
export const errorCodes = {
  // the call itself
  invalid_input: code('caller', 422, 2, 'The input does not fit the operation'),
  not_available: code('caller', 404, 4, 'Not available'),
  unauthenticated: code('caller', 401, 4, 'The credential is missing, expired or not for this door'),
  not_allowed: code('caller', 403, 4, 'The role does not permit this'),
  password_change_required: code('caller', 403, 4, 'The password is for setup only: choose your own with it'),
  csrf_refused: code('caller', 403, 4, "The session's CSRF token is missing or another one"),
  policy_refused: code('admin', 403, 4, 'The policy of this farm forbids this'),
  send_refused: code('caller', 403, 4, 'Operations of class send are refused'),
  not_found: code('caller', 404, 3, 'There is no such thing'),
  unknown_operation: code('caller', 404, 3, 'There is no such operation'),
  above_ceiling: code('caller', 403, 4, 'The ceiling of the operation is never'),
  conflict: code('caller', 409, 6, 'The state has moved on'),
  confirmation_required: code('caller', 409, 5, 'Nothing was done: this needs a confirmation'),
  confirmation_invalid: code('caller', 409, 6, 'The confirmation token does not hold for this call'),
  changed_since_proposal: code('caller', 409, 6, 'What the call would change is not what was proposed'),
  awaiting_approval: code('admin', 409, 6, 'A person has not approved this yet'),
  already_done: code('caller', 409, 6, 'This confirmed call was done already'),
  too_many_pending: code('caller', 429, 7, 'Too many proposals of this caller wait for their confirmation'),
  not_confirmed: code('us', 403, 4, 'The farm itself may not run this operation'),
  cancelled: code('caller', 409, 7, 'The caller has gone; nothing was done'),
  idempotency_key_invalid: code('caller', 400, 2, 'The idempotency key is missing or malformed'),
  idempotency_mismatch: code('caller', 422, 6, 'The idempotency key was used with another input'),
  cursor_reset_required: code('caller', 410, 6, 'The cursor does not lead on: begin again without it'),
  too_large: code('caller', 413, 2, 'The body is over the limit'),
  too_many_requests: code('nobody', 429, 7, 'Too many requests'),
  // leases
  stale_lease: code('nobody', 409, 6, 'The caller does not hold this lease'),
  identity_in_use: code('admin', 409, 6, 'Another process uses this worker identity'),
  not_resumable: code('caller', 409, 6, 'The job can not be put back'),
  // enrolment
  ticket_invalid: code('caller', 403, 4, 'The ticket is unknown, used, expired or bound to another key'),
  wrong_fingerprint: code('caller', 403, 4, 'The controller shows another key than the ticket names'),
  // members
  invalid_request_shape: code('caller', 422, 2, 'The request does not have the shape of this operation'),
  scope_mismatch: code('caller', 403, 4, 'The call does not belong to this Dispatch'),
  illegal_caller: code('caller', 409, 4, 'This member may not call this operation'),
  illegal_target_relation: code('caller', 409, 4, 'The target is not a direct child'),
  illegal_state: code('caller', 409, 6, 'Not legal in this state'),
  stale_dispatch: code('nobody', 409, 6, 'The Dispatch is over'),
  stale_assignment: code('nobody', 409, 6, 'The Assignment is over'),
  stale_team_revision: code('nobody', 409, 6, 'The team has changed'),
  boundary_precondition_failed: code('caller', 409, 6, 'A green checkpoint needs a green of each direct child'),
  capability_rejected: code('caller', 403, 4, 'The capability is not granted'),
  budget_exhausted: code('caller', 409, 6, 'The budget is used up'),
  invalid_task_path: code('caller', 422, 2, 'A file reference does not name a regular file of the workspace'),
  handover_refused: code('caller', 409, 6, 'The handover no longer holds'),
  // work and its road
  commit_refused: code('caller', 422, 6, 'The pack or its commit was refused; the work is kept'),
  source_unavailable: code('admin', 409, 7, 'The source of the Task can not be had'),
  source_refused: code('caller', 422, 2, 'The source is not one that a Task can start from'),
  workspace_too_large: code('caller', 413, 2, 'The workspace is over the limit'),
  capture_failed: code('admin', 500, 1, 'The workspace can not be captured'),
  isolation_unavailable: code('admin', 409, 7, 'The machine can not give the isolation that is required'),
  workspace_unavailable: code('admin', 409, 7, 'The folder of the Task can not be worked in'),
  disk_full: code('admin', 507, 7, 'The disk is full'),
  // webhooks
  webhook_refused: code('caller', 422, 2, 'The URL is not one that the farm calls'),
  webhook_failed: code('admin', 502, 7, 'The receiver of the webhook did not take the message'),
  // workflows
  invalid_workflow: code('caller', 422, 2, 'The workflow document does not hold'),
  // the farm
  unavailable: code('nobody', 503, 7, 'The farm is not ready'),
  plugin_failed: code('admin', 502, 1, 'The plugin failed'),
  timeout: code('nobody', 504, 7, 'It took too long'),
  misconfigured: code('admin', 500, 1, 'The configuration does not hold'),
  port_taken: code('admin', 500, 1, 'The port is taken'),
  data_version: code('admin', 500, 1, 'The data folder belongs to another version'),
  invalid_output: code('us', 500, 1, 'The operation answered something that its contract forbids'),
  internal: code('us', 500, 1, 'A fault of ours'),
} as const satisfies Record<string, ErrorCode>;

export type FarmErrorCode = keyof typeof errorCodes;

export function isFarmErrorCode(value: unknown): value is FarmErrorCode {
  return typeof value === 'string' && Object.hasOwn(errorCodes, value);
}

/** One field of an input that does not fit: where and which rule, never the value (A5.7). */
export interface FieldError {
  /** JSON pointer; segments that came from record keys are `*` (A5.8). */
  readonly path: string;
  readonly rule: string;
  readonly count?: number;
}

interface FarmErrorExtras {
  readonly fields?: readonly FieldError[];
  readonly proposal?: Proposal;
  /** Of the call that was done already (A6.17). */
  readonly receipt?: ConfirmedReceipt;
  /** What the caller may do next, in one sentence. */
  readonly hint?: string;
  readonly retryAfterMs?: number;
  /** Refused, and what came with the call is kept all the same (D20). */
  readonly kept?: boolean;
  readonly cause?: unknown;
}

/**
 * The one error class that crosses our boundaries. `detail` is shown to people and models: it never holds a secret or a value
 * of the input.
 */
export class FarmError extends Error {
  override readonly name = 'FarmError';
  readonly fields: readonly FieldError[] | undefined;
  readonly proposal: Proposal | undefined;
  readonly receipt: ConfirmedReceipt | undefined;
  readonly hint: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly kept: boolean;

  constructor(
    readonly code: FarmErrorCode,
    readonly detail: string = errorCodes[code].title,
    extras: FarmErrorExtras = {},
  ) {
    super(`${code}: ${detail}`, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.fields = extras.fields;
    this.proposal = extras.proposal;
    this.receipt = extras.receipt;
    this.hint = extras.hint;
    this.retryAfterMs = extras.retryAfterMs;
    this.kept = extras.kept ?? false;
  }
}

/** Exit code of the command line for any machine code; codes without an entry are 1 (A9.3). */
export function exitCodeOf(value: string): number {
  return isFarmErrorCode(value) ? errorCodes[value].exit : 1;
}
