import type { OutputOf, webhookList } from '#contracts';
import type { Queries } from '#store';
import { type ListedWebhook, webhookSql } from '../sql/webhook.js';

/** By name; at most `limits.webhooks`. */
export async function listWebhooks(queries: Queries): Promise<OutputOf<typeof webhookList>> {
  return { webhooks: (await queries.all(webhookSql.list)).map(viewOf) };
}

function viewOf(row: ListedWebhook): OutputOf<typeof webhookList>['webhooks'][number] {
  const { name, url, events, added_by, created_at, waiting, dead, delivered_at, last_error } = row;
  return {
    name,
    url,
    events: [...events],
    added_by,
    created_at: created_at.toISOString(),
    waiting,
    dead,
    delivered_at: delivered_at?.toISOString() ?? null,
    last_error,
  };
}
