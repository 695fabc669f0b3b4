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
  id: ItemId.describe('stable name of the option: the answer gives it back'),
  title: outsideText(prose(limits.humanOptionTitle)).describe('the option in a few words'),
  description: outsideText(prose(limits.humanOptionDescription)).optional().describe('what choosing it means'),
});

/** One question: free by a JSON Schema 2020-12, or a choice by stable ids. A label is never an identity. */
export const HumanItem = z
  .strictObject({
    id: ItemId.describe('stable name of the question: the answer gives it back'),
    prompt: outsideText(prose(limits.humanPrompt)).describe('the question, with what a person must know to answer it'),
    response_schema: outsideText(storableJson(limits.humanSchemaBytes))
      .optional()
      .describe('a JSON Schema 2020-12 that the free answer fits; this or options, never both'),
    options: z
      .array(Option)
      .min(2)
      .max(limits.humanOptions)
      .refine((options) => new Set(options.map(({ id }) => id)).size === options.length, {
        params: { rule: 'unique_options' },
      })
      .optional()
      .describe('answers to choose one from; this or response_schema, never both'),
    allow_other: z.boolean().default(false).describe('beside options: an answer in own words will do, too'),
    allow_skip: z.boolean().default(false).describe('the question may be left unanswered'),
  })
  .refine((item) => (item.response_schema === undefined) !== (item.options === undefined), {
    params: { rule: 'schema_or_options' },
  })
  .refine((item) => !item.allow_other || item.options !== undefined, { params: { rule: 'other_needs_options' } });
export type HumanItem = z.output<typeof HumanItem>;

export const HumanRequestInput = z.strictObject({
  kind: HumanRequestKind.describe(
    'what you need: facts (input), a choice (direction), a yes (approval), a look at work (review)',
  ),
  summary: outsideText(prose(limits.humanSummary)).describe(
    'what it is about and why you ask, for who has not seen your work',
  ),
  items: z
    .array(HumanItem)
    .min(1)
    .max(limits.humanItems)
    .refine((items) => new Set(items.map(({ id }) => id)).size === items.length, { params: { rule: 'unique_items' } })
    .describe('the questions'),
  files: FileReferences.default([]).describe('files of the workspace to look at before answering'),
  timeout: z
    .strictObject({
      due_at: z.iso.datetime({ offset: true }).describe('time until which you wait, such as 2026-01-31T08:00:00Z'),
      default_behavior: outsideText(prose(limits.humanSummary))
        .optional()
        .describe('what you will do then: you are reminded of it, the farm does nothing'),
    })
    .optional()
    .describe('when you go on without an answer; absent: you wait for one'),
});
export type HumanRequestInput = z.output<typeof HumanRequestInput>;

export const openHumanRequest = contract({
  name: 'open_human_request',
  group: 'open_human_request',
  summary: 'Ask a person. You hand over and must stop; you go on with the answer.',
  input: z.strictObject({ request: HumanRequestInput.describe('what a person is asked') }),
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

const AnsweredItem = ItemId.describe('id of the question');

/** One for each item, exactly; other and skipped only where the item allows them. */
export const ItemResponse = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('value').describe('a free answer'),
    item_id: AnsweredItem,
    value: outsideText(storableJson(limits.humanAnswerBytes)).describe('the answer, as its response_schema has it'),
  }),
  z.strictObject({
    kind: z.literal('option').describe('one of the options'),
    item_id: AnsweredItem,
    option_id: ItemId.describe('id of the option'),
  }),
  z.strictObject({
    kind: z.literal('other').describe('own words in place of an option, where allow_other'),
    item_id: AnsweredItem,
    text: outsideText(prose(limits.humanPrompt)).describe('the answer'),
  }),
  z.strictObject({ kind: z.literal('skipped').describe('no answer, where allow_skip'), item_id: AnsweredItem }),
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
  /** None where they are too long for an overview (`items_total` tells): the selection `human_request` has them. */
  items: z.array(HumanItem),
  items_total: z.int(),
  /** None where they are too long, or asked for apart: the selection `human_request_files` has them. */
  files: outsideText(FileReferences),
  files_total: z.int(),
  opened_at: z.string(),
  due_at: z.string().nullable(),
  default_behavior: outsideText(z.string()).nullable(),
  status: z.enum(['open', 'answered', 'expired', 'cancelled']),
  resolution: HumanResolution.nullable(),
  actions: z.array(z.strictObject({ id: z.string(), kind: z.enum(['answer', 'cancel']) })),
});
export type HumanRequestView = z.output<typeof HumanRequestView>;

const answerOfView = {
  request_id: z.uuid().describe('id of the request, as task_get shows it'),
  /** Other facts, no answer (I16). */
  action_id: storable(64).describe('id of the action of the request, as task_get showed it with what is answered'),
  input: z
    .discriminatedUnion('kind', [
      z.strictObject({
        kind: z.literal('answer').describe('here is the answer'),
        item_responses: z.array(ItemResponse).min(1).max(limits.humanItems).describe('one for each question'),
      }),
      z.strictObject({ kind: z.literal('cancel').describe('there will be no answer') }),
    ])
    .describe('the answer, or that there will be none'),
} as const;

const Answered = z.strictObject({
  request_id: z.uuid(),
  status: z.enum(['answered', 'cancelled']),
  /** True: the Task is paused, and the member goes on after Resume (I14). */
  continuation_pending: z.boolean(),
});

export const humanRequestRespond = contract({
  name: 'human_request_respond',
  group: 'human_request',
  summary: 'Answer what a member asks, or say that there will be no answer.',
  input: z.strictObject({ task_id: TaskId, ...answerOfView }),
  output: Answered,
  errors: ['not_found', 'conflict', 'invalid_input'],
  positional: ['task_id', 'request_id'],
});

/** Secret of the link in a message: 32 bytes. The farm keeps its hash. */
export const LinkTicket = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

/** Where a link leads: this, and its ticket. */
export const requestLinkPath = '/r';

export const humanRequestAnswerLink = contract({
  name: 'human_request_answer_link',
  group: 'human_request',
  summary: 'Answer what a member asks by the link of a message. The link is used up; an approval also needs a login.',
  input: z.strictObject({ ticket: LinkTicket.describe('what stands behind /r/ in the link'), ...answerOfView }),
  output: Answered,
  errors: ['ticket_invalid', 'unauthenticated', 'not_found', 'conflict', 'invalid_input'],
});
