import { type HumanRequestInput, newId, type WebhookEvent } from '#contracts';
import { controllerPool } from '#jobs';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import { taskSql } from '../sql/teams.js';
import { webhookSql } from '../sql/webhook.js';
import { type Message, webhookJob } from './message.js';

/** A fact, as people outside are told of it. */
type News =
  | {
      readonly event: 'human_request_opened';
      readonly id: string;
      readonly member: string;
      readonly request: HumanRequestInput;
      /** Makes the link of one delivery good for this request. Answers until when. */
      readonly bindLink: (delivery: string, webhook: string) => Promise<Date>;
    }
  | { readonly event: 'attention_opened'; readonly kind: string; readonly summary: string }
  | { readonly event: 'task_paused'; readonly reason: string; readonly detail: string }
  | { readonly event: Exclude<WebhookEvent, 'human_request_opened' | 'attention_opened' | 'task_paused'> };

/**
 * Queues a delivery for each webhook that listens, in the transaction of the fact: what is rolled back is told to nobody, and what
 * is committed is not forgotten (H16). The caller holds the Task's lock: its jobs take turns by the Task, so two facts never wait
 * for each other's turn.
 */
export async function announce(
  parts: Pick<TeamParts, 'queue'>,
  tx: Transaction,
  task: string,
  news: News,
): Promise<void> {
  const listening = await tx.all(webhookSql.listening, { event: news.event });
  if (listening.length === 0) return;
  const about = await aboutTask(tx, task);
  for (const { id: webhook, name } of listening) {
    const id = newId();
    await parts.queue().submit(tx, {
      id,
      kind: webhookJob,
      pool: controllerPool,
      fairness_key: task,
      payload: { webhook: name, event: news.event },
    });
    const link = news.event === 'human_request_opened' ? await news.bindLink(id, name) : undefined;
    const message: Message = {
      type: news.event,
      timestamp: new Date().toISOString(),
      data: { task: about, ...tell(news, link) },
    };
    tx.later(webhookSql.addDelivery, { id, webhook, message: JSON.stringify(message) });
  }
}

/** Product facts and nothing else: no prompt, no commit, no id of a lane, a turn or a job (I24). */
function tell(news: News, linkEnds: Date | undefined): Omit<Message['data'], 'task'> {
  switch (news.event) {
    case 'human_request_opened':
      return {
        request: {
          request_id: news.id,
          kind: news.request.kind,
          member: news.member,
          summary: news.request.summary,
          items: news.request.items,
          due_at: news.request.timeout?.due_at ?? null,
          default_behavior: news.request.timeout?.default_behavior ?? null,
          link_expires_at: linkEnds?.toISOString() ?? null,
        },
      };
    case 'attention_opened':
      return { attention: { kind: news.kind, summary: news.summary } };
    case 'task_paused':
      return { pause: { reason: news.reason, detail: news.detail } };
    case 'task_completed':
    case 'task_cancelled':
      return {};
  }
}

async function aboutTask(tx: Transaction, id: string): Promise<Message['data']['task']> {
  const task = await tx.first(taskSql.read, { task: id });
  if (!task) throw new Error('a fact of a Task that is not there');
  const { title, workflow, status, outcome } = task;
  return { task_id: id, title, workflow_id: workflow, status, outcome };
}
