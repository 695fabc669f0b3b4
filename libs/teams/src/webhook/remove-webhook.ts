import { FarmError, type Preview } from '#contracts';
import type { Queries, Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import { type WebhookRow, webhookSql } from '../sql/webhook.js';

/**
 * Ends what waits for it, then forgets it. Its own lock comes first and those of its jobs after it: no fact is said to it from
 * there on. What is on its way at this moment may arrive.
 *
 * @throws FarmError not_found
 */
export async function removeWebhook({ queue }: Pick<TeamParts, 'queue'>, tx: Transaction, name: string): Promise<void> {
  const webhook = await lockWebhook(tx, name);
  // Some of them may have ended while their lock was waited for: that is as well.
  for (const { id } of await tx.all(webhookSql.waitingOf, { webhook: webhook.id }))
    await queue().endJob(tx, id, 'its webhook was removed');
  await tx.run(webhookSql.remove, { id: webhook.id });
}

/** @throws FarmError not_found */
export async function lockWebhook(tx: Transaction, name: string): Promise<WebhookRow> {
  const webhook = await tx.first(webhookSql.lock, { name });
  if (webhook) return webhook;
  throw unknownWebhook();
}

/** @throws FarmError not_found */
export async function previewWebhookRemoval(queries: Queries, name: string): Promise<Preview> {
  const webhook = await queries.first(webhookSql.find, { name });
  if (!webhook) throw unknownWebhook();
  return {
    summary: 'Forgets the webhook and its secret; what it has not been sent yet is not sent any more',
    changes: [{ id: name, before: { events: [...webhook.events] }, after: null }],
  };
}

export function unknownWebhook(): FarmError {
  return new FarmError('not_found', 'There is no webhook of this name.', {
    hint: '`longshore webhook list` names them.',
  });
}
