import { FarmError, limits } from '#contracts';
import type { JobRow, Kind, Next } from '#jobs';
import type { Transaction } from '#store';
import { webhookSql } from '../sql/webhook.js';
import { webhookJob } from './message.js';

/**
 * The rules of deliveries: jobs of no Task, whose rows lock nothing before the job. Between two tries one is `held`, until wall
 * time says that its next one is due; when its tries are spent it is dead, until a person gives it another life.
 */
export const webhookKind: Kind = {
  name: webhookJob,
  async lockScope() {},
  async onComplete(tx, job) {
    await settle(tx, job, 'delivered');
    return { kept: true };
  },
  onFail: (tx, job, { detail, reason, retryable }) => afterTry(tx, job, detail ?? reason, retryable),
  // A controller that died in the middle of one: whether it arrived nobody knows, so it is sent again, under the same id (A12.22).
  onLeaseLost: (tx, job) => afterTry(tx, job, 'the controller that sent it was lost', true, 0),
  async onCancelled(tx, job) {
    await settle(tx, job, 'cancelled');
  },
  async onRedrive(tx, job) {
    // It arrived: the queue refuses that by its own rule.
    if (job.state !== 'dead') return 'queue';
    if (await tx.first(webhookSql.revive, { id: job.id })) return 'queue';
    throw new FarmError('not_resumable', 'The webhook that this was for is not there any more.');
  },
};

async function afterTry(
  tx: Transaction,
  job: JobRow,
  why: string,
  retryable: boolean,
  pauseMs = pauseAfter(job.tries + 1),
): Promise<Next> {
  const tries = job.tries + 1;
  if (!retryable || tries >= limits.webhookTries) {
    await settle(tx, job, 'dead', why);
    return { next: 'dead', note: retryable ? `${why}; ${tries} tries` : why, spent: true };
  }
  await tx.run(webhookSql.postpone, { id: job.id, pause_ms: pauseMs, error: why });
  return { next: 'hold', note: why, spent: true };
}

async function settle(
  tx: Transaction,
  { id }: JobRow,
  state: 'delivered' | 'dead' | 'cancelled',
  error: string | null = null,
): Promise<void> {
  await tx.run(webhookSql.settle, { id, state, error });
}

/** Between half of 5, 10, 20 … s and all of it, so that those that failed together do not come back together. */
export function pauseAfter(tries: number, random: () => number = Math.random): number {
  const most = Math.min(limits.webhookPauseMostMs, limits.webhookPauseMs * 2 ** (tries - 1));
  return Math.round((most * (1 + random())) / 2);
}
