import { FarmError, newId } from '#contracts';
import type { TeamParts } from '../parts.js';
import { webhookSql } from '../sql/webhook.js';
import { secretPlace } from './add-webhook.js';
import { judgedReceiver, readWebhookUrl } from './judge-url.js';
import { postMessage } from './post-message.js';
import { unknownWebhook } from './remove-webhook.js';

/**
 * Network, outside any transaction: one message, signed like all others, tried once. Answers the receiver's status.
 *
 * @throws FarmError not_found, webhook_refused, webhook_failed
 */
export async function testWebhook(
  { database, vault, sources }: Pick<TeamParts, 'database' | 'vault' | 'sources'>,
  name: string,
  signal: AbortSignal,
): Promise<number> {
  const webhook = await database.first(webhookSql.find, { name });
  if (!webhook) throw unknownWebhook();
  await judgedReceiver(readWebhookUrl(webhook.url), sources);
  const secret = vault.open(secretPlace(webhook.id), webhook.secret);
  const body = JSON.stringify({ type: 'webhook_test', timestamp: new Date().toISOString(), data: { webhook: name } });
  const posted = await postMessage({ id: newId(), url: webhook.url, secret, body, hidden: [] }, sources, signal);
  if (posted.taken) return posted.status;
  throw new FarmError('webhook_failed', `The receiver did not take the message: ${posted.why}.`, {
    hint: 'Messages about the farm are tried again for hours; this one was for you to see.',
  });
}
