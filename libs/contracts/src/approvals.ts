import { z } from 'zod';
import { contract } from './contract.js';
import { ApprovalId } from './ids.js';
import { outsideText } from './outside-text.js';
import { PageLimit } from './paging.js';
import { Change } from './proposal.js';

/** `used`: the call that it was for has been made. */
export const ApprovalState = z.enum(['pending', 'approved', 'refused', 'used']);
export type ApprovalState = z.output<typeof ApprovalState>;

export const ApprovalView = z.strictObject({
  approval_id: ApprovalId,
  operation: z.string(),
  /** Who asks, and the person that it is for. */
  agent_id: z.string().nullable(),
  actor: z.string().nullable(),
  summary: outsideText(z.string()),
  /** The first ones, as the agent was shown them. */
  changes: outsideText(z.array(Change)),
  count: z.int(),
  state: ApprovalState,
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
  decided_by: z.string().nullable(),
});
export type ApprovalView = z.output<typeof ApprovalView>;

export const approvalList = contract({
  name: 'approval_list',
  summary: 'List what agents have proposed and a person must approve.',
  input: z.strictObject({
    state: ApprovalState.default('pending').describe('only those in this state'),
    limit: PageLimit,
  }),
  output: z.strictObject({ approvals: z.array(ApprovalView) }),
});

export const approvalDecide = contract({
  name: 'approval_decide',
  summary: 'Approve or refuse what an agent has proposed.',
  input: z.strictObject({
    approval_id: ApprovalId,
    decision: z.enum(['approve', 'refuse']).describe('whether the agent may make the call that it proposed'),
  }),
  output: z.strictObject({ approval_id: ApprovalId, state: z.enum(['approved', 'refused']) }),
  errors: ['not_found', 'conflict', 'not_allowed'],
  positional: ['approval_id', 'decision'],
});
