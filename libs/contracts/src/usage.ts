import { z } from 'zod';
import { Billing, Usage } from './jobs.js';

/** What a Task may use, counted over all its Dispatches; at least one limit. */
export const Budget = z
  .strictObject({
    usd: z.number().min(0.01).max(1_000_000).optional().describe('list price in US dollars, whoever pays'),
    tokens: z.int().min(1).optional().describe('tokens of input and output together'),
    requests: z.int().min(1).optional().describe('requests to the model'),
  })
  .refine((budget) => Object.keys(budget).length > 0, { params: { rule: 'not_empty' } });
export type Budget = z.output<typeof Budget>;

/** One Dispatch's use. */
const UsageStep = z.strictObject({
  ...Usage.shape,
  member_id: z.string(),
  account: z.string().nullable(),
  billing: Billing.nullable(),
  models: z.array(z.string()),
  /** When it was said last. */
  at: z.string(),
});

export const TaskUsage = z.strictObject({
  ...Usage.shape,
  /** What of `cost_usd` somebody is charged: the rest is covered by plans. */
  billed_usd: z.number().min(0).optional(),
  /** In the order of their beginning; the last ones where there are many. */
  steps: z.array(UsageStep),
});
export type TaskUsage = z.output<typeof TaskUsage>;
