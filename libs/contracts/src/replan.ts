import { z } from 'zod';
import { contract } from './contract.js';
import { AuthoredId } from './ids.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { prose } from './text.js';
import { MemberCapabilities, MemberFields, MemberProvider, memberTexts } from './workflow-document.js';

const { id: _, ...fields } = MemberFields.shape;
const NewFields = z.strictObject(fields);

/** A member to come, with those below it. It names no id: the farm gives each one. */
export type NewMember = z.output<typeof NewFields> & { readonly children?: readonly NewMember[] | undefined };
export const NewMember: z.ZodType<NewMember> = z
  .strictObject({
    ...fields,
    children: z
      .array(z.lazy(() => NewMember))
      .min(1)
      .max(limits.workflowChildren)
      .optional()
      .describe('members below it, by the same fields'),
  })
  .describe('the member to come, with those below it; the farm gives the ids');

const patchFields = {
  title: outsideText(prose(limits.memberTitle)).nullable().optional().describe(memberTexts.title),
  description: outsideText(prose(limits.memberProse)).nullable().optional().describe(memberTexts.description),
  instruction: outsideText(prose(limits.memberProse)).nullable().optional().describe(memberTexts.instruction),
  provider: MemberProvider.nullable().optional().describe(memberTexts.provider),
  capabilities: MemberCapabilities.nullable()
    .optional()
    .describe('the whole block of what it may ask for, in place of the one before'),
};
export const patchText = 'what changes: a field that is not named stays, null clears it';
const PatchFields = z.strictObject(patchFields);
/** What changes of one member alone: a field that is not named stays, null clears it. */
export const MemberChange = PatchFields;
export type MemberChange = z.output<typeof MemberChange>;

/**
 * What changes: a field that is not named stays, null clears it. Listed children are changed where they name an id of a direct
 * child, and added where they name none; the others stay as they are.
 */
export type MemberPatch = z.output<typeof PatchFields> & { readonly children?: readonly ChildPatch[] | undefined };
type ChildPatch = MemberPatch & { readonly id?: string | undefined };
const children = z
  .array(z.lazy(() => ChildPatch))
  .min(1)
  .max(limits.workflowChildren)
  .optional()
  .describe('direct children to change, or to add where they name no id; the others stay as they are');
const ChildPatch: z.ZodType<ChildPatch> = z.strictObject({
  id: AuthoredId.optional().describe('id of a direct child; absent: a new one'),
  ...patchFields,
  children,
});
export const MemberPatch: z.ZodType<MemberPatch> = z.strictObject({ ...patchFields, children });

export const ReplanResult = z.strictObject({
  operation: z.enum(['add_child', 'update_child', 'remove_child']),
  created_ids: z.array(z.string()),
  updated_ids: z.array(z.string()),
  removed_ids: z.array(z.string()),
  direct_team: z.array(z.json()),
  behavior: z.enum(['manager', 'contributor']),
  effective_capabilities: z.strictObject({
    human_request: z.array(z.string()),
    command_run: z.enum(['allow', 'deny']),
  }),
  available_actions: z.array(z.string()),
  must_stop: z.literal(true),
});
export type ReplanResult = z.output<typeof ReplanResult>;

const errors = [
  'illegal_caller',
  'illegal_target_relation',
  'illegal_state',
  'budget_exhausted',
  'conflict',
  'stale_assignment',
  'stale_dispatch',
  'stale_lease',
] as const;
const goOn = 'You hand over and must stop; you go on with the team as it is then.';

export const addChild = contract({
  name: 'add_child',
  group: 'add_child',
  summary: `Add a member, with those below it, to your direct team. ${goOn}`,
  input: z.strictObject({ child: NewMember }),
  output: ReplanResult,
  errors: [...errors],
});

export const updateChild = contract({
  name: 'update_child',
  group: 'update_child',
  summary: `Change a member below you that is not at work. ${goOn}`,
  input: z.strictObject({
    id: AuthoredId.describe('id of a member below you'),
    patch: MemberPatch.describe(patchText),
  }),
  output: ReplanResult,
  errors: [...errors],
});

export const removeChild = contract({
  name: 'remove_child',
  group: 'remove_child',
  summary: `Remove a member below you, with those below it, that are not at work. ${goOn}`,
  input: z.strictObject({ id: AuthoredId.describe('id of a member below you; those below it go with it') }),
  output: ReplanResult,
  errors: [...errors],
});
