import { z } from 'zod';
import { contract } from './contract.js';
import { AuthoredId } from './ids.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { FileReferences, proseBytes } from './text.js';

/** A mission for one direct child. A new meaning is a new Assignment. */
export const ChildAssignment = z.strictObject({
  child_id: AuthoredId.describe('id of a member of your direct team, as get_current_context shows it'),
  prompt: outsideText(proseBytes(limits.promptBytes)).describe(
    'the mission: goal, bounds, what to report; the child sees nothing of your session',
  ),
  files: FileReferences.default([]).describe('files of the workspace that the child should look at'),
});
export type ChildAssignment = z.output<typeof ChildAssignment>;

export const DelegateInput = z.strictObject({
  assignments: z
    .array(ChildAssignment)
    .min(1)
    .max(limits.waveMembers)
    .refine((all) => new Set(all.map((each) => each.child_id)).size === all.length, {
      params: { rule: 'unique_children' },
    })
    .describe('one mission for each child that is to work now'),
});
export type DelegateInput = z.output<typeof DelegateInput>;

export const delegate = contract({
  name: 'delegate',
  group: 'delegate',
  summary:
    'Give work to direct children, side by side. You hand over and must stop; you go on when all of them have reported.',
  input: DelegateInput,
  output: z.strictObject({
    accepted: z.literal(true),
    members: z.array(z.strictObject({ child_id: z.string() })),
    must_stop: z.literal(true),
  }),
  errors: [
    'illegal_caller',
    'illegal_target_relation',
    'illegal_state',
    'budget_exhausted',
    'invalid_task_path',
    'stale_assignment',
    'stale_dispatch',
    'stale_lease',
  ],
});

/** What became of a child's branch at the join. */
export const ChildMerge = z.discriminatedUnion('outcome', [
  z.strictObject({ outcome: z.literal('no_changes') }),
  z.strictObject({ outcome: z.literal('merged'), commit: z.string() }),
  z.strictObject({ outcome: z.literal('already_merged') }),
  /** Left as the branch, for who goes on to bring in. */
  z.strictObject({ outcome: z.literal('conflict'), files: z.array(z.string()), branch: z.string() }),
  /** A child that reported blocked: its work is kept and not merged. */
  z.strictObject({ outcome: z.literal('skipped'), branch: z.string().optional() }),
  z.strictObject({ outcome: z.literal('error'), reason: z.string(), branch: z.string() }),
]);
export type ChildMerge = z.output<typeof ChildMerge>;
