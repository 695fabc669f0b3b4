import { FarmError, type InputOf, limits, newId, type OutputOf, type webhookAdd } from '#contracts';
import type { Transaction } from '#store';
import type { Actor } from '../api.js';
import type { TeamParts } from '../parts.js';
import { webhookSql } from '../sql/webhook.js';
import { judgedReceiver, readWebhookUrl, type WebhookUrl } from './judge-url.js';
import { newSigningSecret } from './sign.js';

type Wanted = InputOf<typeof webhookAdd>;

/**
 * Network, outside any transaction: whether the farm may call this URL as its name answers now. It is judged again for each
 * message.
 *
 * @throws FarmError webhook_refused
 */
export async function prepareWebhook({ sources }: Pick<TeamParts, 'sources'>, wanted: Wanted): Promise<WebhookUrl> {
  const url = readWebhookUrl(wanted.url);
  await judgedReceiver(url, sources);
  return url;
}

/** Answers the signing secret, which is sealed from then on (H41). @throws FarmError conflict */
export async function addWebhook(
  { vault }: Pick<TeamParts, 'vault'>,
  tx: Transaction,
  { principal }: Actor,
  { name, events }: Wanted,
  { href: url }: WebhookUrl,
): Promise<OutputOf<typeof webhookAdd>> {
  const { count = 0 } = (await tx.first(webhookSql.count)) ?? {};
  if (count >= limits.webhooks)
    throw new FarmError('conflict', `The farm holds ${limits.webhooks} webhooks, its limit.`, {
      hint: 'Remove those that nobody needs: `longshore webhook list` names them.',
    });
  const id = newId();
  const secret = newSigningSecret();
  const sealed = vault.seal(secretPlace(id), secret);
  const added = await tx.first(webhookSql.add, { id, name, url, events, secret: sealed, added_by: principal });
  if (added) return { name, events, secret };
  throw new FarmError('conflict', 'A webhook of this name is there already.', {
    hint: 'Take another name, or remove that one first: longshore webhook remove NAME --yes.',
  });
}

/** Where a sealed secret belongs; moved to another row it opens there for nobody. */
export const secretPlace = (id: string): string => `webhook/${id}/secret`;
