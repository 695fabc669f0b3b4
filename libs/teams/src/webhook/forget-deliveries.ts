import { limits } from '#contracts';
import type { TeamParts } from '../parts.js';
import { requestLinkSql } from '../sql/request-link.js';
import { webhookSql } from '../sql/webhook.js';

/** Bodies that were delivered or taken back, and links that are over: nobody asks for them any more. */
export async function forgetDeliveries({ database }: Pick<TeamParts, 'database'>): Promise<void> {
  await database.run(webhookSql.forget, { ms: limits.webhookKeptMs });
  await database.run(requestLinkSql.forget, { ms: limits.webhookKeptMs });
}
