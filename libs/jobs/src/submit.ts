import { FarmError, limits, utf8Length } from '#contracts';
import type { Transaction } from '#store';
import type { QueueContext } from './context.js';
import type { JobRow, NewJob } from './job.js';
import { queueSql } from './sql/queue.js';

export async function submit(context: QueueContext, tx: Transaction, job: NewJob): Promise<void> {
  const { id, kind, scope = null, payload = {}, pool = 'default', account = null, prefer, delay_ms = 0 } = job;
  const labels = distinct(job.labels ?? []);
  const counted = distinct([...(job.limits ?? []), ...(account === null ? [] : [`account:${account}`])]);
  const body = JSON.stringify(payload);
  if (utf8Length(body) > limits.payloadBytes) {
    throw new FarmError('too_large', `The payload of a job is at most ${limits.payloadBytes} bytes.`, {
      hint: 'Keep what is larger where its worker can fetch it, and name it in the payload.',
    });
  }
  const state = job.held ? 'held' : 'queued';
  tx.later(queueSql.submit, {
    id,
    kind,
    scope,
    pool,
    labels,
    class: classOf({ pool, kind, account, labels, limits: counted }),
    priority: job.priority ?? 0,
    fairness_key: job.fairness_key ?? scope ?? kind,
    weight: job.weight ?? 1,
    limits: counted,
    account,
    state,
    lanes: context.kinds.get(kind)?.lanes ?? null,
    delay_ms,
    prefer: prefer?.worker ?? null,
    prefer_ms: prefer?.ms ?? null,
    deadline_ms: job.deadline_ms ?? null,
    payload: body,
  });
  if (state === 'held') return;
  const ring = { id, kind, pool, labels, account, prefer: prefer?.worker ?? null, after_ms: delay_ms };
  if (delay_ms === 0 && !context.offered.has(tx)) {
    context.offered.set(tx, []);
    tx.beforeCommit(async () => void context.offered.set(tx, await context.offer(tx, ring)));
  }
  tx.afterCommit(() => {
    if (!context.offered.get(tx)?.includes(id)) context.ring(ring);
  });
}

/** Everything that a claimer must match, as one text. */
export function classOf(job: Pick<JobRow, 'pool' | 'kind' | 'account' | 'labels' | 'limits'>): string {
  const { pool, kind, account, labels, limits } = job;
  return [pool, kind, account ?? '', labels.join(','), limits.join(',')].join('|');
}

function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}
