import { z } from 'zod';
import { contract } from './contract.js';
import { JobId } from './ids.js';
import { limits } from './limits.js';
import { PageLimit, pageCursor } from './paging.js';
import { storable } from './text.js';

/** One call, or one change by hand, as the audit has it. */
const AuditEntry = z.strictObject({
  seq: z.int(),
  at: z.iso.datetime(),
  /** The operation that was called. */
  operation: z.string(),
  door: z.string(),
  class: z.string(),
  /** The person that it was for. */
  actor: z.string().nullable(),
  actor_name: z.string().nullable(),
  /** The agent or worker that called. */
  agent_id: z.string().nullable(),
  agent_name: z.string().nullable(),
  /** `ok`, `error:<code>`, `cancelled` … */
  outcome: z.string(),
  job_id: JobId.nullable(),
  epoch: z.int().nullable(),
  /** Calls that the row stands for: beats of one lease. */
  calls: z.int(),
  /** Base64url; equal for equal inputs under one key, and says nothing else. */
  input_hash: z.string().nullable(),
  hash_key_id: z.string().nullable(),
  sealed: z.boolean(),
});

export const auditList = contract({
  name: 'audit_list',
  summary: 'Who called what, newest first.',
  input: z.strictObject({
    person: storable(64).optional().describe('name or id of the person that a call was for'),
    agent: storable(64).optional().describe('name or id of the agent or machine that called'),
    operation: storable(64).optional().describe('name of one operation, such as task_start'),
    by_door: z.enum(['cli', 'ui', 'mcp', 'node', 'internal']).optional().describe('how the call came in'),
    outcome: storable(80).optional().describe('ok, error for all errors, or one such as error:conflict'),
    job_id: JobId.optional().describe('calls about this job'),
    since: z.iso.datetime({ offset: true }).optional().describe('from this time on'),
    until: z.iso.datetime({ offset: true }).optional().describe('before this time'),
    limit: PageLimit,
    cursor: pageCursor(64),
  }),
  errors: ['not_found'],
  output: z.strictObject({ entries: z.array(AuditEntry), next_cursor: z.string().nullable() }),
});

/**
 *  altered       the row, or its seal, is not what was sealed
 *  removed       the row is gone
 *  seal_removed  seals are gone from the middle
 *  cut_off       seals are gone from the end, or an older copy of the database was put back
 *  never_sealed  the row was kept from its seal
 */
export const AuditFault = z.strictObject({
  kind: z.enum(['altered', 'removed', 'seal_removed', 'cut_off', 'never_sealed']),
  /** The row's number. */
  seq: z.int().nullable(),
  /** Place in the chain. */
  seal: z.int().nullable(),
  detail: z.string(),
});
export type AuditFault = z.output<typeof AuditFault>;

export const auditVerify = contract({
  name: 'audit_verify',
  summary: 'Check that nobody changed or removed what the audit says.',
  input: z.strictObject({ cursor: pageCursor(64) }),
  output: z.strictObject({
    /** Of what this call has looked at. */
    intact: z.boolean(),
    checked: z.int(),
    /** Rows of the last moment, which are sealed next. */
    waiting: z.int(),
    faults: z.array(AuditFault).max(limits.pageMax),
    /** Set: there is more to check. */
    next_cursor: z.string().nullable(),
  }),
});
