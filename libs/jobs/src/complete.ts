import { z } from 'zod';
import type { Parameters, Transaction } from '#store';
import { answerHash } from './answer-hash.js';
import { distinct, fenceOf, lockScope, type QueueContext } from './context.js';
import type { Holder, JobEnd, LeaseFence } from './job.js';
import { admitNext } from './lanes.js';
import type { Completion, PreparedCompletion } from './queue.js';
import { leaseSql, type SettledRow } from './sql/lease.js';
import { sameAnswerOr, staleLease } from './stale.js';

const Answer = z.object({ state: z.enum(['done', 'cancelled']), kept: z.boolean() });
type Answer = z.output<typeof Answer>;

/**
 * The fence is read before any work on disk (D13). A lease that its caller ended already has nothing to prepare: `complete` finds
 * the same answer.
 */
export async function prepareCompletion(
  context: QueueContext,
  holder: Holder,
  fence: LeaseFence,
  end: JobEnd,
): Promise<PreparedCompletion> {
  const job = await context.database.first(leaseSql.held, fenceOf(holder, fence));
  if (job) return { job, value: await context.kinds.get(job.kind)?.prepare?.(job, end) };
  await sameAnswerOr(context.database, holder, fence, answerHash('complete', end));
  return { job: await context.database.first(leaseSql.find, { job_id: fence.job_id }), value: undefined };
}

export async function complete(
  context: QueueContext,
  tx: Transaction,
  holder: Holder,
  fence: LeaseFence,
  end: JobEnd,
  prepared: PreparedCompletion,
): Promise<Answer> {
  if (prepared.job) await lockScope(context, tx, prepared.job);
  const settled = await settle(tx, { holder, fence, end });
  if (!settled) return Answer.parse(await sameAnswerOr(tx, holder, fence, answerHash('complete', end)));
  if (!context.kinds.has(settled.kind)) return { state: stateOf(settled), kept: true };
  // Its scope was not locked above: the caller prepared another job than it ends.
  if (!prepared.job || prepared.job.id !== settled.id) throw staleLease();
  const answer = await conclude(context, tx, settled, { ...end, prepared: prepared.value });
  await admitNext(context, tx, settled);
  return answer;
}

/**
 * Ends of plain jobs, with how often each lease was beaten. Nothing for what its kind must see, and for what is not held or in
 * other hands: `complete` decides.
 */
export async function completeTogether(
  context: QueueContext,
  tx: Transaction,
  completions: readonly Completion[],
): Promise<readonly ((Answer & { readonly beats: number }) | undefined)[]> {
  const ends = distinct(completions, ({ fence }) => fence.job_id);
  const rows = await tx.all(leaseSql.settlePlain, { ...endsOf(ends), ruled: [...context.kinds.keys()] });
  const settled = new Map(rows.map((row) => [ends[row.n - 1], row]));
  return completions.map((completion) => {
    const row = settled.get(completion);
    return row && { state: stateOf(row), kept: true, beats: row.beats };
  });
}

/** At once where nobody is in the way; else after the job's lock, where all waiting has ended. */
async function settle(tx: Transaction, completion: Completion): Promise<SettledRow | undefined> {
  const ends = { ...endsOf([completion]), ruled: [] };
  const settled = await tx.first(leaseSql.settle, ends);
  if (settled) return settled;
  await tx.first(leaseSql.lock, { job_id: completion.fence.job_id });
  return await tx.first(leaseSql.settle, ends);
}

function endsOf(completions: readonly Completion[]): Parameters {
  return {
    jobs: completions.map(({ fence }) => fence.job_id),
    epochs: completions.map(({ fence }) => fence.epoch),
    lease_ids: completions.map(({ fence }) => fence.lease_id),
    holders: completions.map(({ holder }) => holder.worker),
    boots: completions.map(({ holder }) => holder.boot),
    hashes: completions.map(({ end }) => answerHash('complete', end)),
    results: completions.map(({ end }) => JSON.stringify(end.result ?? null)),
    notes: completions.map(({ end }) => noteOf(end)),
  };
}

async function conclude(
  context: QueueContext,
  tx: Transaction,
  settled: SettledRow,
  end: JobEnd & { readonly prepared: unknown },
): Promise<Answer> {
  const kind = context.kinds.get(settled.kind);
  // A completion before the first `started` beat counts as it (D12).
  if (settled.was === 'preparing') await kind?.onStarted?.(tx, settled);
  if (settled.state === 'cancelled') {
    await kind?.onCancelled(tx, settled, 'completed', end);
    return { state: 'cancelled', kept: true };
  }
  const { kept } = (await kind?.onComplete(tx, settled, end)) ?? { kept: true };
  if (!kept) tx.later(leaseSql.answerKept, { job_id: settled.id, epoch: settled.epoch, kept });
  return { state: 'done', kept };
}

function stateOf(settled: Pick<SettledRow, 'state'>): Answer['state'] {
  return settled.state === 'cancelled' ? 'cancelled' : 'done';
}

function noteOf(end: JobEnd): string | null {
  return end.ended === 'done' ? null : end.ended;
}
