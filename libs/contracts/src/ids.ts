import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { limits } from './limits.js';

const crockford = '0123456789abcdefghjkmnpqrstvwxyz';

/** 40 random bits as 8 characters of Crockford's base 32, behind a prefix (N9). */
function shortId(prefix: string): string {
  return `${prefix}_${Array.from(randomBytes(8), (byte) => crockford.charAt(byte & 31)).join('')}`;
}

const short = (prefix: string) => z.string().regex(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{8}$`));

export const TaskId = short('t');
export const WorkerId = short('w');
export const PersonId = short('p');
/** A login of a person, in a browser or of a command line. */
export const SessionId = short('s');
/** A service token. */
export const ServiceId = short('v');
/** What a person is asked to approve. */
export const ApprovalId = short('ap');
export const AgentId = short('a');
/** A Command Run, as members and people call it. */
export const CommandId = short('c');
/** A Dispatch, a Command Run or another job: one id for the lease and for what it executes. */
export const JobId = z.uuid();
export const LeaseId = z.uuid();
export const BootId = z.uuid();
/** A git object id (SHA-1 or SHA-256). */
export const ObjectId = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);
export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** Number of a job's lease, from 1, never reused (A12.2). */
export const Epoch = z.int().min(1);
/** An authored name: workflow or member (N1). */
export const AuthoredId = z
  .string()
  .min(1)
  .max(limits.workflowId)
  .regex(/^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/);
const long = (prefix: string) => z.string().regex(new RegExp(`^${prefix}[0-9a-f]{24}$`));
/** A draft of a workflow; one version of it; what undoes the change that made that version. */
export const DraftId = long('workflow-draft\\.');
export const DraftEtag = long('wd-');
export const UndoReceiptId = long('workflow-undo\\.');
/** A machine label: `gpu`, `os:linux`, `host:payroll`. */
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
