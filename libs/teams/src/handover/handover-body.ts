import { z } from 'zod';
import {
  CheckpointInput,
  ChildAssignment,
  CommandId,
  CommandRunInput,
  HumanRequestInput,
  MemberPatch,
  NewMember,
  ReplanResult,
} from '#contracts';

/** A checkpoint with an outcome. */
const CheckpointBody = z.object({
  kind: z.literal('checkpoint'),
  checkpoint: z.object({ id: z.uuid(), ...CheckpointInput.shape }),
});

/** A Wave to come: its id and those of its children's Assignments are reserved at the call. */
const DelegateBody = z.object({
  kind: z.literal('delegate'),
  wave: z.uuid(),
  children: z.array(z.object({ assignment: z.uuid(), ...ChildAssignment.shape })),
});

/** A change of the caller's own branch. New members have the ids that were reserved at the call, in the order of their tree. */
const ReplanBody = z.object({
  kind: z.literal('replan'),
  change: z.discriminatedUnion('operation', [
    z.object({ operation: z.literal('add_child'), child: NewMember }),
    z.object({ operation: z.literal('update_child'), id: z.string(), patch: MemberPatch }),
    z.object({ operation: z.literal('remove_child'), id: z.string() }),
  ]),
  reserved: z.array(z.string()),
  /** What the member was answered, and its successor is told. */
  result: ReplanResult,
});

/** A question to people. */
const HumanRequestBody = z.object({ kind: z.literal('human_request'), id: z.uuid(), request: HumanRequestInput });

/** A command to be run on what the member leaves behind. */
const CommandRunBody = z.object({
  kind: z.literal('command_run'),
  id: z.uuid(),
  name: CommandId,
  request: CommandRunInput,
});

/** How a Dispatch ends by the word of its member, whole: nothing of it is thought up when the work arrives (D2). */
export const HandoverBody = z.discriminatedUnion('kind', [
  CheckpointBody,
  DelegateBody,
  ReplanBody,
  HumanRequestBody,
  CommandRunBody,
]);
export type HandoverBody = z.output<typeof HandoverBody>;
export type HandoverKind = HandoverBody['kind'];
export type BodyOf<Kind extends HandoverKind> = Extract<HandoverBody, { kind: Kind }>;
