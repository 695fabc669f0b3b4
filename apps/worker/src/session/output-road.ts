import { FarmError, limits, objectPaths } from '#contracts';
import type { HeldLease } from '../claim/held-lease.js';
import { type Farm, roadTo } from '../controller/farm.js';
import { untilAnswered } from '../controller/until-answered.js';
import { faultOf, type Log } from '../log.js';
import type { ProviderEvent } from '../provider/events.js';
import { ByteQueue } from './byte-queue.js';

const segmentBytes = limits.outputSegmentBytes;
const segmentMs = 500;
/** After so many segments each is given twice the time: a day of single lines stays below the most that there may be. */
const segmentsPerPace = 16_384;
/** What of a session may wait while the farm is away; past it the newest is left out, and the log says so. */
const waitingBytesMost = 32 * 1024 * 1024;
/** A command that says more waits until the farm has taken some: its pipes are the only place where it may pile up. */
const commandWaitsAbove = 6 * segmentBytes;
/** Segments on the road at once: while one is made durable the next ones are sent. */
const flightsMost = 3;

/** A segment on the road, and under which number it goes up. */
interface Flight {
  readonly content: Buffer;
  place: { readonly epoch: number; readonly segment: number };
  state: 'going' | 'arrived' | 'refused';
}

/**
 * What a session or a command says, in segments of 1 MiB or half a second, each put once and never changed (H17). At a new epoch
 * the numbers begin again. When the farm refuses one, nothing after it is sent: readers stop at the first that is missing.
 */
export class OutputRoad {
  private readonly queue = new ByteQueue();
  /** In the order in which they were said; the first has not arrived. */
  private readonly flights: Flight[] = [];
  private next = { epoch: 0, segment: 0 };
  private full = false;
  private closed = false;
  private sending: Promise<void> | undefined;
  private arrived = 0;
  private refused: FarmError | undefined;
  private readonly waiting = new Set<() => void>();
  private hurry: () => void = () => undefined;

  constructor(
    private readonly farm: Farm,
    private readonly lease: HeldLease,
    private readonly log: Log,
  ) {}

  write(event: ProviderEvent): void {
    if (this.closed || this.refused !== undefined) return;
    if (this.queue.length > waitingBytesMost) {
      if (!this.full) this.log.warn('more output waits for the farm than may wait; the newest is left out');
      this.full = true;
      return;
    }
    this.add(Buffer.from(`${JSON.stringify(event)}\n`));
  }

  /** Bytes as a command said them; returns when there is room for more. What the farm takes no more of is dropped. */
  async writeBytes(chunk: Buffer): Promise<void> {
    if (this.closed || this.refused !== undefined || chunk.length === 0) return;
    this.add(chunk);
    while (this.heldBytes > commandWaitsAbove && !this.lease.isLost) await this.change();
  }

  /** How many bytes the farm has, without a gap. */
  get arrivedBytes(): number {
    return this.arrived;
  }

  /** Why the farm took no more. */
  get refusal(): FarmError | undefined {
    return this.refused;
  }

  /** Brings the rest up; returns when the farm has it or the lease is lost. More may be written after it. */
  async flush(): Promise<void> {
    this.closed = true;
    this.hurry();
    while (this.sending !== undefined) await this.sending;
    this.closed = false;
  }

  private get heldBytes(): number {
    return this.flights.reduce((sum, { content }) => sum + content.length, this.queue.length);
  }

  private get goingCount(): number {
    return this.flights.filter(({ state }) => state === 'going').length;
  }

  private add(content: Buffer): void {
    this.queue.add(content);
    if (this.queue.length >= segmentBytes) this.hurry();
    this.wake();
    this.start();
  }

  private start(): void {
    this.sending ??= this.send().finally(() => {
      this.sending = undefined;
      // what came just after the last look
      if (this.queue.length > 0) this.start();
    });
  }

  private async send(): Promise<void> {
    while (this.queue.length > 0 || this.goingCount > 0) {
      if (this.queue.length === 0 || this.goingCount >= flightsMost) await this.change();
      else {
        await this.untilFull();
        this.startFlight(this.queue.take(segmentBytes));
      }
    }
  }

  /** A segment's time, or less when it is full or nothing more comes. */
  private async untilFull(): Promise<void> {
    if (this.closed || this.queue.length >= segmentBytes) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, segmentMs * 2 ** Math.floor(this.next.segment / segmentsPerPace));
    this.hurry = resolve;
    await promise;
    clearTimeout(timer);
  }

  private startFlight(content: Buffer): void {
    if (content.length === 0) return;
    const flight: Flight = { content, place: this.nextPlace(), state: 'going' };
    this.flights.push(flight);
    void this.fly(flight).finally(() => this.wake());
  }

  private async fly(flight: Flight): Promise<void> {
    try {
      await this.put(flight);
      flight.state = 'arrived';
    } catch (error) {
      flight.state = 'refused';
      if (!this.lease.isLost)
        this.log.warn({ fault: faultOf(error) }, 'a segment of output was refused; what comes after it is not sent');
      this.refused ??= error instanceof FarmError ? error : new FarmError('internal', undefined, { cause: error });
      this.queue.clear();
    }
    for (let [first] = this.flights; first?.state === 'arrived'; [first] = this.flights) {
      this.arrived += first.content.length;
      this.flights.shift();
    }
  }

  /** A stale lease may be given back at the next epoch: then what has not arrived goes up there, in its order. */
  private async put(flight: Flight): Promise<void> {
    for (;;) {
      if ((await this.lease.sure()) === 'lost') throw new FarmError('stale_lease');
      this.renumber();
      const { content, place } = flight;
      const { fence, job } = this.lease;
      const road = roadTo(objectPaths.output, { job, ...place });
      try {
        await untilAnswered(() => this.farm.put(road, () => content, content.length, { jobToken: this.lease.token }), {
          again: ['disk_full'],
        });
        // one that was given another number meanwhile is missing there
        if (flight.place === place) return;
      } catch (error) {
        if (!(error instanceof FarmError) || error.code !== 'stale_lease') throw error;
        this.lease.question(fence);
      }
    }
  }

  private renumber(): void {
    if (this.next.epoch === this.lease.epoch) return;
    this.next = { epoch: this.lease.epoch, segment: 0 };
    for (const flight of this.flights) flight.place = this.nextPlace();
  }

  private nextPlace(): Flight['place'] {
    const place = { ...this.next };
    this.next = { ...place, segment: place.segment + 1 };
    return place;
  }

  private change(): Promise<void> {
    return new Promise((resolve) => this.waiting.add(resolve));
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }
}
