import { z } from 'zod';
import { contract } from './contract.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { storable } from './text.js';

/** What people call a webhook. */
export const WebhookName = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[a-z0-9][a-z0-9._-]*$/);

/** Facts that a webhook may be told of: a closed list, each said in the transaction that makes it true (H16). */
export const WebhookEvent = z.enum([
  'human_request_opened',
  'task_completed',
  'task_paused',
  'task_cancelled',
  'attention_opened',
]);
export type WebhookEvent = z.output<typeof WebhookEvent>;

export const WebhookView = z.strictObject({
  name: WebhookName,
  /** May open what is behind it: for admins alone. */
  url: z.string(),
  events: z.array(WebhookEvent),
  added_by: z.string(),
  created_at: z.string(),
  /** Messages that are on their way, or wait for their next try. */
  waiting: z.int(),
  /** Given up: `queue list --state dead` shows them. */
  dead: z.int(),
  delivered_at: z.string().nullable(),
  /** Of the last try that failed. */
  last_error: outsideText(z.string()).nullable(),
});
export type WebhookView = z.output<typeof WebhookView>;

export const webhookAdd = contract({
  name: 'webhook_add',
  summary: 'Have the farm tell a server of yours when something happens. Shows the signing secret, once.',
  input: z.strictObject({
    name: WebhookName.describe('what it is called here'),
    url: storable(limits.webhookUrl).describe('https URL of the receiver, without credentials'),
    events: z
      .array(WebhookEvent)
      .min(1)
      .max(WebhookEvent.options.length)
      .refine((events) => new Set(events).size === events.length, { params: { rule: 'unique_events' } })
      .default(['human_request_opened'])
      .describe('what it is told of'),
  }),
  output: z.strictObject({
    name: WebhookName,
    events: z.array(WebhookEvent),
    /** `whsec_` and 32 bytes in base64; the receiver checks signatures with it. Nobody is shown it again (H41). */
    secret: z.string(),
  }),
  errors: ['conflict', 'webhook_refused'],
  positional: ['name', 'url'],
});

export const webhookList = contract({
  name: 'webhook_list',
  summary: 'The webhooks of the farm, and how they fare.',
  input: z.strictObject({}),
  output: z.strictObject({ webhooks: z.array(WebhookView) }),
});

export const webhookRemove = contract({
  name: 'webhook_remove',
  summary: 'Forget a webhook and its secret. What it has not been sent yet is not sent any more.',
  input: z.strictObject({ name: WebhookName.describe('what it is called here') }),
  output: z.strictObject({ name: WebhookName, removed: z.literal(true) }),
  errors: ['not_found'],
  positional: ['name'],
});

export const webhookTest = contract({
  name: 'webhook_test',
  summary: 'Send a webhook one signed message of the type webhook_test now, and tell what became of it.',
  input: z.strictObject({ name: WebhookName.describe('what it is called here') }),
  output: z.strictObject({ name: WebhookName, delivered: z.literal(true), status: z.int() }),
  errors: ['not_found', 'webhook_failed', 'webhook_refused'],
  positional: ['name'],
});
