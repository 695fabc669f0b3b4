import { z } from 'zod';
import { HumanItem, HumanRequestKind, requestLinkPath, TaskId, TaskStatus, WebhookEvent } from '#contracts';
import { ticketOf } from '../human-request/request-link.js';
import type { TeamParts } from '../parts.js';

/** The kind of its jobs: claimed by controllers alone (H16, H37). */
export const webhookJob = 'webhook';

/** A body as it is kept: without the link, whose secret no row holds. docs/webhooks.md shows it to receivers. */
export const Message = z.object({
  type: WebhookEvent,
  /** When it became true. */
  timestamp: z.string(),
  data: z.object({
    task: z.object({
      task_id: TaskId,
      title: z.string(),
      workflow_id: z.string(),
      status: TaskStatus,
      outcome: z.enum(['green', 'blocked']).nullable(),
    }),
    request: z
      .object({
        request_id: z.uuid(),
        kind: HumanRequestKind,
        member: z.string(),
        summary: z.string(),
        items: z.array(HumanItem).readonly(),
        due_at: z.string().nullable(),
        default_behavior: z.string().nullable(),
        link_expires_at: z.string().nullable(),
      })
      .exactOptional(),
    pause: z.object({ reason: z.string(), detail: z.string() }).exactOptional(),
    attention: z.object({ kind: z.string(), summary: z.string() }).exactOptional(),
  }),
});
export type Message = z.output<typeof Message>;

/** The body of every try of a delivery, byte for byte the same while the farm keeps its address. */
export function bodyOf(parts: Pick<TeamParts, 'vault' | 'publicUrl'>, delivery: string, kept: unknown): string {
  const message = Message.parse(kept);
  const { request } = message.data;
  if (request === undefined) return JSON.stringify(message);
  const link = linkTo(parts, delivery);
  return JSON.stringify({ ...message, data: { ...message.data, request: { ...request, link } } });
}

/** Null: the farm does not know yet where it is reached. */
function linkTo(parts: Pick<TeamParts, 'vault' | 'publicUrl'>, delivery: string): string | null {
  const base = parts.publicUrl?.();
  if (base === undefined) return null;
  return new URL(`${requestLinkPath}/${ticketOf(parts, delivery)}`, base).href;
}
