import type { WebhookEvent } from '#contracts';
import { statement } from '#store';

export interface WebhookRow {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  /** Sealed. */
  readonly secret: Uint8Array;
  readonly added_by: string;
  readonly created_at: Date;
}

export interface ListedWebhook extends WebhookRow {
  readonly waiting: number;
  readonly dead: number;
  readonly delivered_at: Date | null;
  readonly last_error: string | null;
}

/** A delivery with what sends it. */
export interface OutgoingRow {
  readonly id: string;
  readonly message: unknown;
  readonly webhook: string;
  readonly name: string;
  readonly url: string;
  readonly secret: Uint8Array;
}

/** Hand-written SQL of webhooks and of what is on its way to them. */
export const webhookSql = {
  /** No row: the name is taken. */
  add: statement<WebhookRow>(
    'teams.webhook_add',
    `insert into webhook (id, name, url, events, secret, added_by) values ($id, $name, $url, $events::text[], $secret, $added_by)
     on conflict (name) do nothing returning *`,
  ),
  count: statement<{ count: number }>('teams.webhook_count', `select count(*) as count from webhook`),
  find: statement<WebhookRow>('teams.webhook_find', `select * from webhook where name = $name`),
  /** Waits for facts in flight that are said to it, and facts from here on do not find it. */
  lock: statement<WebhookRow>('teams.webhook_lock', `select * from webhook where name = $name for update`),
  remove: statement<unknown>('teams.webhook_remove', `delete from webhook where id = $id`),
  list: statement<ListedWebhook>(
    'teams.webhook_list',
    `select w.*, d.waiting, d.dead, d.delivered_at, f.last_error
     from webhook w
     cross join lateral (
       select count(*) filter (where state = 'waiting') as waiting, count(*) filter (where state = 'dead') as dead,
         max(settled_at) filter (where state = 'delivered') as delivered_at
       from webhook_delivery where webhook = w.id
     ) d
     left join lateral (
       select last_error from webhook_delivery
       where webhook = w.id and last_error is not null and state in ('waiting', 'dead')
       order by created_at desc limit 1
     ) f on true
     order by w.name`,
  ),
  /**
   * Who is told of an event.
   *  for key share   none of them goes before the fact is committed: its deliveries would hang on nothing, and the fact fail. Facts
   *                  do not wait for each other
   */
  listening: statement<Pick<WebhookRow, 'id' | 'name'>>(
    'teams.webhook_listening',
    `select id, name from webhook where $event = any(events) order by id for key share`,
  ),
  addDelivery: statement<unknown>(
    'teams.webhook_delivery_add',
    `insert into webhook_delivery (id, webhook, message) values ($id, $webhook, $message::jsonb)`,
  ),
  outgoing: statement<OutgoingRow>(
    'teams.webhook_outgoing',
    `select d.id, d.message, w.id as webhook, w.name, w.url, w.secret
     from webhook_delivery d join webhook w on w.id = d.webhook where d.id = $id`,
  ),
  /** Anything to look for in the queue: by wall time, which goes on while the farm is down (H16). */
  due: statement<{ id: string }>(
    'teams.webhook_due',
    `select id from webhook_delivery where state = 'waiting' and next_at <= clock_timestamp() order by next_at limit $limit`,
  ),
  /** The job's lock is held. waiting: what was delivered or taken back stays so. */
  postpone: statement<unknown>(
    'teams.webhook_postpone',
    `update webhook_delivery set next_at = clock_timestamp() + $pause_ms::float8 * interval '1 ms', last_error = $error
     where id = $id and state = 'waiting'`,
  ),
  /** The job's lock is held. */
  settle: statement<unknown>(
    'teams.webhook_settle',
    `update webhook_delivery set state = $state, next_at = null, settled_at = clock_timestamp(), last_error = coalesce($error, last_error)
     where id = $id and state = 'waiting'`,
  ),
  /** dead: the one end that a person takes back. No row: its webhook was removed. */
  revive: statement<{ id: string }>(
    'teams.webhook_revive',
    `update webhook_delivery set state = 'waiting', next_at = clock_timestamp(), settled_at = null
     where id = $id and state = 'dead' returning id`,
  ),
  waitingOf: statement<{ id: string }>(
    'teams.webhook_waiting_of',
    `select id from webhook_delivery where webhook = $webhook and state = 'waiting' order by id`,
  ),
  /** A dead one stays while it can have another life. */
  forget: statement<unknown>(
    'teams.webhook_forget',
    `delete from webhook_delivery where state in ('delivered', 'cancelled') and settled_at < clock_timestamp() - $ms::float8 * interval '1 ms'`,
  ),
} as const;
