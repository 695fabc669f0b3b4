import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { limits } from './limits.js';

const crockford = '0123456789abcdefghjkmnpqrstvwxyz';

/** 40 random bits as 8 characters of Crockford's base 32, behind a prefix (N9). */
function shortId(prefix: string): string {
  return `${prefix}_${Array.from(randomBytes(8), (byte) => crockford.charAt(byte & 31)).join('')}`;
}

const short = (prefix: string, what: string) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{8}$`))
    .describe(`id of ${what}, begins with ${prefix}_`);

export const TaskId = short('t', 'a Task');
export const WorkerId = short('w', 'a machine');
export const PersonId = short('p', 'a person');
/** In a browser or of a command line. */
export const SessionId = short('s', 'a login of a person');
export const ServiceId = short('v', 'a service token');
export const ApprovalId = short('ap', 'what a person is asked to approve');
export const AgentId = short('a', 'an agent');
export const CommandId = short('c', 'a Command Run');
/** A Dispatch, a Command Run or another job: one id for the lease and for what it executes. */
export const JobId = z.uuid().describe('id of a job, as job_claim or queue_list showed it');
export const LeaseId = z.uuid().describe('id of a lease, as job_claim answered it');
export const BootId = z.uuid();
export const ObjectId = z
  .string()
  .regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/)
  .describe('a whole git object id, SHA-1 or SHA-256');
export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** A12.2. */
export const Epoch = z.int().min(1).describe("number of the job's lease, from 1, never reused");
/** An authored name: workflow or member (N1). */
export const AuthoredId = z
  .string()
  .min(1)
  .max(limits.workflowId)
  .regex(/^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/)
  .describe('lower-case words joined by - or _');
const long = (prefix: string, what: string) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}[0-9a-f]{24}$`))
    .describe(what);
export const DraftId = long('workflow-draft\\.', 'id of a draft, as workflow_get shows it');
export const DraftEtag = long(
  'wd-',
  'etag of the version of the draft that you have seen; refused when it has changed since',
);
export const UndoReceiptId = long('workflow-undo\\.', 'undo_receipt that the change answered');
/** `gpu`, `os:linux`, `host:payroll`. */
export const Label = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[a-z0-9][a-z0-9_.:/-]*$/);
export const Labels = z.array(Label).max(32);
/** A pool of workers. */
export const PoolName = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[a-z][a-z0-9-]*$/);

export const newTaskId = (): string => shortId('t');
export const newWorkerId = (): string => shortId('w');
export const newCommandId = (): string => shortId('c');
export const newPersonId = (): string => shortId('p');
export const newSessionId = (): string => shortId('s');
export const newServiceId = (): string => shortId('v');
export const newApprovalId = (): string => shortId('ap');
export const newAgentId = (): string => shortId('a');
export const newId = (): string => randomUUID();
const longToken = (): string => randomBytes(12).toString('hex');
export const newDraftId = (): string => `workflow-draft.${longToken()}`;
export const newDraftEtag = (): string => `wd-${longToken()}`;
export const newUndoReceiptId = (): string => `workflow-undo.${longToken()}`;
