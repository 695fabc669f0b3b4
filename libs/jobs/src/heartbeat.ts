import { JobPhase, type LeaseReply, limits } from '#contracts';
import type { Queries, Transaction } from '#store';
import { lockScope, type QueueContext } from './context.js';
import type { Beat, Holder } from './job.js';
import { type BeatenRow, leaseSql } from './sql/lease.js';

/** A session that is silent for longer is as silent: twice what loses the lease (D6). */
const mostIdleMs = 2 * limits.sweepSilenceMs;

export async function heartbeat(
  context: QueueContext,
  holder: Holder,
  beats: readonly Beat[],
): Promise<readonly LeaseReply[]> {
  if (beats.length === 0) return [];
  const troubled = await acknowledge(context, holder, beats);
  const untroubled = beats.filter((beat) => !troubled.has(beat));
  const beaten = await beatTogether(context, holder, untroubled);
  for (const beat of inOrder(untroubled.filter((each) => !beaten.has(each)))) {
    try {
      const row = await beatAlone(context, holder, beat);
      if (row) beaten.set(beat, row);
    } catch (error) {
      troubled.set(beat, error);
      context.onTrouble(beat.job_id, error);
    }
  }
  const [first] = troubled.values();
  if (troubled.size === beats.length) throw first;
  await tellInterrupts(context, beats, beaten);
  const answered = beats.filter((beat) => !troubled.has(beat));
  return answered.map((beat) => reply(context, holder, beat, beaten.get(beat)));
}

/** A value that PostgreSQL refuses fails all that share its statement: then each goes alone, and one fails alone (H13). */
async function beatTogether(
  context: QueueContext,
  holder: Holder,
  beats: readonly Beat[],
): Promise<Map<Beat, BeatenRow>> {
  const beaten = new Map<Beat, BeatenRow>();
  try {
    for (const row of await beatAll(context, context.database, holder, beats, [...context.kinds.keys()])) {
      const beat = beats[row.n - 1];
      if (beat) beaten.set(beat, row);
    }
  } catch {
    beaten.clear();
  }
  return beaten;
}

/** Those that were in another's hands, or that their kind must see: under the locks of scope and job, each by itself. */
function beatAlone(context: QueueContext, holder: Holder, beat: Beat): Promise<BeatenRow | undefined> {
  return context.database.transaction(async (tx) => {
    const found = await tx.first(leaseSql.find, { job_id: beat.job_id });
    if (found?.state !== 'leased' || found.lease_id !== beat.lease_id) return undefined;
    await lockScope(context, tx, found);
    await tx.first(leaseSql.lock, { job_id: beat.job_id });
    const [row] = await beatAll(context, tx, holder, [beat], []);
    const kind = context.kinds.get(found.kind);
    if (!row || !kind || (!row.started && beat.progress === undefined)) return row;
    const job = await tx.first(leaseSql.find, { job_id: beat.job_id });
    if (!job) return undefined;
    if (row.started) await kind.onStarted?.(tx, job);
    if (beat.progress !== undefined) await kind.onProgress?.(tx, job, beat);
    return row;
  });
}

function beatAll(
  context: QueueContext,
  queries: Queries,
  holder: Holder,
  beats: readonly Beat[],
  ruled: readonly string[],
): Promise<readonly BeatenRow[]> {
  return queries.all(leaseSql.beat, {
    ...columns(beats),
    phases: beats.map((beat) => beat.phase),
    sessions: beats.map((beat) => beat.session_ref ?? null),
    idles: beats.map((beat) => Math.min(beat.idle_ms, mostIdleMs)),
    progress: beats.map((beat) => (beat.progress === undefined ? null : JSON.stringify(beat.progress))),
    order: JobPhase.options,
    holder: holder.worker,
    boot: holder.boot,
    lease_ms: context.leaseMs,
    ruled,
  });
}

/** Under the scope's lock, as a kind may write what was heard. Whose word could not be taken says it again: its beat has no answer. */
async function acknowledge(context: QueueContext, holder: Holder, beats: readonly Beat[]): Promise<Map<Beat, unknown>> {
  const troubled = new Map<Beat, unknown>();
  for (const beat of inOrder(beats.filter(({ acks }) => acks.length > 0))) {
    try {
      await context.database.transaction((tx) => acknowledgeAlone(context, tx, holder, beat));
    } catch (error) {
      troubled.set(beat, error);
      context.onTrouble(beat.job_id, error);
    }
  }
  return troubled;
}

async function acknowledgeAlone(context: QueueContext, tx: Transaction, holder: Holder, beat: Beat): Promise<void> {
  const job = await tx.first(leaseSql.find, { job_id: beat.job_id });
  if (!job) return;
  await lockScope(context, tx, job);
  const acks = beat.acks.map((ack) => ({ ...beat, ...ack }));
  const news = await tx.all(leaseSql.acknowledge, {
    ...columns(acks),
    seqs: acks.map((ack) => ack.seq),
    outcomes: acks.map((ack) => ack.outcome),
    holder: holder.worker,
    boot: holder.boot,
  });
  for (const said of news) await context.kinds.get(job.kind)?.onSignalled?.(tx, job, said);
}

async function tellInterrupts(
  context: QueueContext,
  beats: readonly Beat[],
  beaten: ReadonlyMap<Beat, BeatenRow>,
): Promise<void> {
  const jobs = beats.filter((beat) => beaten.get(beat)?.signals?.some((signal) => signal.kind === 'interrupt'));
  if (jobs.length === 0) return;
  await context.database.run(leaseSql.toldInterrupts, { jobs: jobs.map((beat) => beat.job_id) });
}

function reply(
  context: QueueContext,
  { worker }: Holder,
  { job_id, epoch, lease_id }: Beat,
  row: BeatenRow | undefined,
): LeaseReply {
  if (!row) return { held: false, job_id, code: 'stale_lease' };
  const { kind, lease_ms, end_kind, end_reason } = row;
  const token = context.mintJobToken({ job: job_id, epoch, lease_id, kind, worker, lease_ms });
  const steer = (row.signals ?? []).filter((signal) => signal.kind === 'steer').map(({ seq, text }) => ({ seq, text }));
  return {
    held: true,
    job_id,
    lease_ms,
    token,
    ...(end_kind === null ? {} : { end: { kind: end_kind, reason: end_reason ?? '' } }),
    ...(row.signals?.some((signal) => signal.kind === 'interrupt') ? { interrupt: true } : {}),
    ...(steer.length > 0 ? { steer } : {}),
  };
}

function columns(beats: readonly Pick<Beat, 'job_id' | 'epoch' | 'lease_id'>[]) {
  return {
    jobs: beats.map((beat) => beat.job_id),
    epochs: beats.map((beat) => beat.epoch),
    lease_ids: beats.map((beat) => beat.lease_id),
  };
}

/** Many locks, one order (H12). */
function inOrder(beats: readonly Beat[]): readonly Beat[] {
  return [...beats].sort((a, b) => (a.job_id < b.job_id ? -1 : 1));
}
