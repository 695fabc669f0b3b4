import { z } from 'zod';
import { contract } from './contract.js';
import { TaskId } from './ids.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { FileReferences, prose, storable, storableJson } from './text.js';
import { HumanRequestKind } from './workflow-document.js';

const ItemId = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/);

const Option = z.strictObject({
  id: ItemId,
  title: outsideText(prose(limits.humanOptionTitle)),
  description: outsideText(prose(limits.humanOptionDescription)).optional(),
});

/** One question: free by a JSON Schema 2020-12, or a choice by stable ids. A label is never an identity. */
export const HumanItem = z
  .strictObject({
    id: ItemId,
    prompt: outsideText(prose(limits.humanPrompt)),
    response_schema: outsideText(storableJson(limits.humanSchemaBytes)).optional(),
    options: z
      .array(Option)
      .min(2)
      .max(limits.humanOptions)
      .refine((options) => new Set(options.map(({ id }) => id)).size === options.length, {
        params: { rule: 'unique_options' },
      })
      .optional(),
    allow_other: z.boolean().default(false),
    allow_skip: z.boolean().default(false),
  })
  .refine((item) => (item.response_schema === undefined) !== (item.options === undefined), {
    params: { rule: 'schema_or_options' },
  })
  .refine((item) => !item.allow_other || item.options !== undefined, { params: { rule: 'other_needs_options' } });
export type HumanItem = z.output<typeof HumanItem>;

export const HumanRequestInput = z.strictObject({
  kind: HumanRequestKind,
  summary: outsideText(prose(limits.humanSummary)),
  items: z
    .array(HumanItem)
    .min(1)
    .max(limits.humanItems)
    .refine((items) => new Set(items.map(({ id }) => id)).size === items.length, { params: { rule: 'unique_items' } }),
  files: FileReferences.default([]),
  /** Wall time. What is to be done when nobody has answered by then is told to the member, not done by the farm. */
  timeout: z
    .strictObject({
      due_at: z.iso.datetime({ offset: true }),
      default_behavior: outsideText(prose(limits.humanSummary)).optional(),
    })
    .optional(),
});
export type HumanRequestInput = z.output<typeof HumanRequestInput>;

export const openHumanRequest = contract({
  name: 'open_human_request',
  group: 'open_human_request',
  summary: 'Ask a person. You hand over and must stop; you go on with the answer.',
  input: z.strictObject({ request: HumanRequestInput }),
  output: z.strictObject({ request_id: z.uuid(), status: z.literal('open'), must_stop: z.literal(true) }),
  errors: [
    'capability_rejected',
    'illegal_state',
    'invalid_input',
    'invalid_task_path',
    'stale_assignment',
    'stale_dispatch',
    'stale_lease',
  ],
});

/** One for each item, exactly; other and skipped only where the item allows them. */
export const ItemResponse = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('value'),
    item_id: ItemId,
    value: outsideText(storableJson(limits.humanAnswerBytes)),
  }),
  z.strictObject({ kind: z.literal('option'), item_id: ItemId, option_id: ItemId }),
  z.strictObject({ kind: z.literal('other'), item_id: ItemId, text: outsideText(prose(limits.humanPrompt)) }),
  z.strictObject({ kind: z.literal('skipped'), item_id: ItemId }),
]);
export type ItemResponse = z.output<typeof ItemResponse>;

export const HumanResolution = z.strictObject({
  kind: z.enum(['answered', 'timed_out', 'cancelled']),
  item_responses: z.array(ItemResponse),
  resolved_at: z.string(),
  by: z.string().nullable(),
});
export type HumanResolution = z.output<typeof HumanResolution>;

export const HumanRequestView = z.strictObject({
  request_id: z.uuid(),
  kind: HumanRequestKind,
  member: z.strictObject({ id: z.string(), name: outsideText(z.string()) }),
  summary: outsideText(z.string()),
  items: z.array(HumanItem),
  files: outsideText(FileReferences),
  opened_at: z.string(),
  due_at: z.string().nullable(),
  default_behavior: outsideText(z.string()).nullable(),
  status: z.enum(['open', 'answered', 'expired', 'cancelled']),
  resolution: HumanResolution.nullable(),
  actions: z.array(z.strictObject({ id: z.string(), kind: z.enum(['answer', 'cancel']) })),
});
export type HumanRequestView = z.output<typeof HumanRequestView>;

export const humanRequestRespond = contract({
  name: 'human_request_respond',
  group: 'human_request',
  summary: 'Answer what a member asks, or say that there will be no answer.',
  input: z.strictObject({
    task_id: TaskId,
    request_id: z.uuid(),
    /** Of the view that was answered: other facts, no answer (I16). */
    action_id: storable(64),
    input: z.discriminatedUnion('kind', [
      z.strictObject({
        kind: z.literal('answer'),
        item_responses: z.array(ItemResponse).min(1).max(limits.humanItems),
      }),
      z.strictObject({ kind: z.literal('cancel') }),
    ]),
  }),
  output: z.strictObject({
    request_id: z.uuid(),
    status: z.enum(['answered', 'cancelled']),
    /** True: the Task is paused, and the member goes on after Resume (I14). */
    continuation_pending: z.boolean(),
  }),
  errors: ['not_found', 'conflict', 'invalid_input'],
  positional: ['task_id', 'request_id'],
});
