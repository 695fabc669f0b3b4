import { z } from 'zod';
import { contract } from './contract.js';
import { limits } from './limits.js';
import { prose } from './text.js';
import { Budget } from './usage.js';
import { AuthoredSandbox, HumanRequestKind, ProviderKind } from './workflow-document.js';

/** The most that workflows and Tasks may ask for. What is absent is not limited. */
export const Policy = z.strictObject({
  /** From narrow to wide: read_only/deny, workspace_write/deny, workspace_write/allow, full_access/allow. */
  sandbox: AuthoredSandbox.optional().describe('the widest walls that a member may have'),
  providers: z.array(ProviderKind).min(1).max(8).optional().describe('the only providers that may do turns'),
  models: z
    .array(prose(limits.modelChars))
    .min(1)
    .max(64)
    .optional()
    .describe('the only models, or their beginnings with * behind; each member must then name its model'),
  human_request: z
    .array(HumanRequestKind)
    .max(HumanRequestKind.options.length)
    .optional()
    .describe('the only kinds of questions that members may ask people; none where the list is empty'),
  command_run: z.enum(['allow', 'deny']).optional().describe('deny: no member may have commands run'),
  budget: Budget.optional().describe('the most that one Task may use; a Task that names no budget gets this one'),
});
export type Policy = z.output<typeof Policy>;

const PolicyView = z.strictObject({
  policy: Policy,
  /** Null: nobody has set one. */
  changed_by: z.string().nullable(),
  changed_at: z.string().nullable(),
});

export const policyShow = contract({
  name: 'policy_show',
  summary: 'The most that workflows and Tasks may ask for.',
  input: z.strictObject({}),
  output: PolicyView,
});

export const policySet = contract({
  name: 'policy_set',
  summary: 'Limit what workflows and Tasks may ask for; what is left out is not limited.',
  input: Policy,
  output: PolicyView,
});
