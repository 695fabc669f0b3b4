import { FarmError, type LeasedJob, limits, newId } from '#contracts';
import { controllerPool, type LeaseFence } from '#jobs';
import { ticketOf } from '../human-request/request-link.js';
import type { TeamParts } from '../parts.js';
import { soonest } from '../soonest.js';
import { type OutgoingRow, webhookSql } from '../sql/webhook.js';
import { secretPlace } from './add-webhook.js';
import { bodyOf, webhookJob } from './message.js';
import { type Outgoing, type Posted, postMessage } from './post-message.js';

/**
 * Sends what waits: claims deliveries like a machine claims its work, under a name of its own, and settles each with its lease. A
 * few at once, and no look waits longer than it is told: a slow receiver holds up nobody else's.
 */
export class WebhookCourier {
  private readonly holder = { worker: `controller-${newId()}`, boot: newId() } as const;
  private readonly underWay = new Map<string, Promise<void>>();
  private readonly closing = new AbortController();

  constructor(private readonly parts: TeamParts) {}

  /** Begins what there is room for and waits for it, `atMostMs` at most; what takes longer goes on. Answers how many it began. */
  async look(atMostMs: number): Promise<number> {
    const room = limits.webhooksAtOnce - this.underWay.size;
    if (this.closing.signal.aborted || room <= 0) return 0;
    const leases = (await this.callDue()) ? await this.claim(room) : [];
    const begun = leases.map((lease) => this.begin(lease));
    await soonest(Promise.all(begun), atMostMs);
    return begun.length;
  }

  /** Breaks off what is on its way and gives it back: another controller, or the next start, sends it again. */
  async close(): Promise<void> {
    const broken = this.underWay.size;
    this.closing.abort();
    await Promise.all(this.underWay.values());
    if (broken === 0) return;
    const { database, queue, onTrouble } = this.parts;
    try {
      await database.transaction((tx) => queue().releaseHolder(tx, this.holder.worker, 'its controller stopped'));
    } catch (error) {
      // Their leases end by themselves.
      onTrouble?.(error, 'webhooks');
    }
  }

  /** By wall time. False: nothing is due, and the queue is not asked. */
  private async callDue(): Promise<boolean> {
    const { database, queue } = this.parts;
    const due = await database.all(webhookSql.due, { limit: limits.pageMax });
    if (due.length === 0) return false;
    const jobs = due.map(({ id }) => id);
    await database.transaction((tx) => queue().releaseJobs(tx, jobs));
    return true;
  }

  private claim(room: number): Promise<readonly LeasedJob[]> {
    const { database, queue } = this.parts;
    const claimer = {
      ...this.holder,
      pool: controllerPool,
      labels: [],
      accounts: [],
      kinds: [webhookJob],
      slots: limits.webhooksAtOnce,
    };
    const limit = Math.min(room, limits.claimBatch);
    return database.transaction((tx) => queue().claim(tx, claimer, { request_id: newId(), limit }));
  }

  private begin(lease: LeasedJob): Promise<void> {
    const work = this.deliver(lease)
      .catch((error: unknown) => {
        // Its lease ends by itself, and somebody sends it again.
        if (!isLost(error) && !this.closing.signal.aborted) this.parts.onTrouble?.(error, `webhook ${lease.id}`);
      })
      .finally(() => {
        this.underWay.delete(lease.id);
        this.parts.onDelivered?.();
      });
    this.underWay.set(lease.id, work);
    return work;
  }

  private async deliver({ id, epoch, lease_id }: LeasedJob): Promise<void> {
    const fence: LeaseFence = { job_id: id, epoch, lease_id };
    // Said before it goes out: a lease that is lost from here on has spent a try, and one that is lost already sends nothing.
    const [reply] = await this.parts
      .queue()
      .heartbeat(this.holder, [{ ...fence, phase: 'started', idle_ms: 0, acks: [] }]);
    if (reply?.held !== true) return;
    const posted = reply.end === undefined ? await this.post(id) : undefined;
    await this.settle(fence, posted);
  }

  /** Nothing: its webhook was removed. */
  private async post(id: string): Promise<Posted | undefined> {
    const row = await this.parts.database.first(webhookSql.outgoing, { id });
    if (!row) return undefined;
    const outgoing = this.outgoingOf(row);
    // A failed try like any other: kept leased, it would take the place of what can be sent.
    if (!outgoing) return { taken: false, why: 'the farm can not read what it should send', gone: false };
    return await postMessage(outgoing, this.parts.sources, this.closing.signal);
  }

  /** Nothing: the row does not open under the key of this data folder, or does not read any more. */
  private outgoingOf({ id, webhook, url, secret: sealed, message }: OutgoingRow): Outgoing | undefined {
    try {
      const secret = this.parts.vault.open(secretPlace(webhook), sealed);
      return { id, url, secret, body: bodyOf(this.parts, id, message), hidden: [ticketOf(this.parts, id)] };
    } catch (error) {
      this.parts.onTrouble?.(error, `webhook ${id}`);
      return undefined;
    }
  }

  private async settle(fence: LeaseFence, posted: Posted | undefined): Promise<void> {
    const { database } = this.parts;
    const queue = this.parts.queue();
    if (posted !== undefined && !posted.taken) {
      const failure = { reason: 'job_error', retryable: !posted.gone, detail: posted.why } as const;
      await database.transaction((tx) => queue.fail(tx, this.holder, fence, failure));
      return;
    }
    const end = { ended: 'done', result: posted === undefined ? null : { status: posted.status } } as const;
    const prepared = await queue.prepareCompletion(this.holder, fence, end);
    await database.transaction((tx) => queue.complete(tx, this.holder, fence, end, prepared));
  }
}

function isLost(error: unknown): boolean {
  return error instanceof FarmError && error.code === 'stale_lease';
}
