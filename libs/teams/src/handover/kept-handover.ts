import { z } from 'zod';
import { claimReceipt, keepReply, type Queries, readReceipt, sentTogether, type Transaction } from '#store';
import { HandoverBody } from './handover-body.js';

const Kept = z.object({
  /** Where it was first kept: calls that said the same point to it. */
  origin: z.string(),
  call_id: z.string(),
  /** What the member called, to know it when it is said again. */
  operation: z.string(),
  input: z.json(),
  /** The same with the ids that were reserved for it. */
  body: HandoverBody,
  /** What the member was answered, and is answered again. */
  reply: z.json(),
});
/** A handover that was checked and answered, and that waits for the work to arrive (D2). No domain row knows of it. */
export type KeptHandover = z.output<typeof Kept>;

const Alias = z.object({ origin: z.string() });

/**
 * Receipts of the job itself, by epoch: a handover is void when its lease is lost (H1). A refused one leaves its place to the next
 * (D1): `<epoch>.0`, `<epoch>.1`, …
 */
const place = (job: string, key: string) => ({ caller: job, operation: 'handover', key });
const refusal = (job: string, key: string) => ({ caller: job, operation: 'handover_refused', key });
const alias = (job: string, callId: string) => ({ caller: job, operation: 'handover_call', key: callId });

/** As many handovers of one lease may be refused; each costs one of three reminders, so that it is never reached. */
const mostPlaces = 64;

interface Slot {
  readonly key: string;
  readonly kept: KeptHandover | undefined;
}

/** The handover that stands at this epoch, and the key that it has or the next one will have. */
export async function findHandover(queries: Queries, job: string, epoch: number): Promise<Slot> {
  for (let n = 0; n < mostPlaces; n += 1) {
    const key = `${epoch}.${n}`;
    const [found, refused] = await sentTogether([
      readReceipt(queries, place(job, key)),
      readReceipt(queries, refusal(job, key)),
    ]);
    if (!found.known) return { key, kept: undefined };
    if (!refused.known) return { key, kept: Kept.parse(found.reply) };
  }
  throw new Error('a lease has more refused handovers than reminders');
}

/** Keeps a checked handover. The caller holds the Task's lock and has seen that the place is free. */
export async function keepHandover(
  tx: Transaction,
  job: string,
  key: string,
  kept: Omit<KeptHandover, 'origin'>,
): Promise<void> {
  await claimReceipt(tx, place(job, key), saidIn(kept));
  keepReply(tx, place(job, key), { ...kept, origin: key });
  await nameCall(tx, job, kept.call_id, key);
}

/** The same handover, said again under another call id. */
export async function nameCall(tx: Transaction, job: string, callId: string, origin: string): Promise<void> {
  const named = await claimReceipt(tx, alias(job, callId), origin);
  if (!named.known) keepReply(tx, alias(job, callId), { origin });
}

/** Whether this call said the handover that stands. */
export async function saidBy(queries: Queries, job: string, callId: string, kept: KeptHandover): Promise<boolean> {
  const named = await readReceipt(queries, alias(job, callId));
  return named.known && Alias.parse(named.reply).origin === kept.origin;
}

/** D11: the same session goes on at the next epoch, and what it handed over stays valid. */
export async function carryHandover(tx: Transaction, job: string, from: number, to: number): Promise<void> {
  const { kept } = await findHandover(tx, job, from);
  if (!kept) return;
  const key = `${to}.0`;
  const claimed = await claimReceipt(tx, place(job, key), saidIn(kept));
  if (!claimed.known) keepReply(tx, place(job, key), kept);
}

/** D1: what was refused does not stand in the way of another. */
export async function voidHandover(tx: Transaction, job: string, key: string): Promise<void> {
  const claimed = await claimReceipt(tx, refusal(job, key), null);
  if (!claimed.known) keepReply(tx, refusal(job, key), { refused: true });
}

/** What the member said, without what was reserved for it. */
export function saidIn({ operation, input }: Pick<KeptHandover, 'operation' | 'input'>) {
  return { operation, input };
}
