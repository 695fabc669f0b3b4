import { setTimeout as pause } from 'node:timers/promises';
import { FarmError, limits, objectPaths } from '#contracts';
import type { HeldLease } from '../claim/held-lease.js';
import { type Farm, roadTo } from '../controller/farm.js';
import { untilAnswered } from '../controller/until-answered.js';
import { faultOf, type Log } from '../log.js';
import type { ProviderEvent } from '../provider/events.js';

const segmentBytes = limits.outputSegmentBytes;
const segmentMs = 500;
/** What may wait while the farm is away; past it the newest is left out, and the log says so. */
const waitingBytesMost = 32 * 1024 * 1024;

/** A command that says more waits until the farm has taken some: its pipes are the only place where it may pile up. */
const commandWaitsAbove = 4 * segmentBytes;
/** After so many segments each is given twice the time, so that a day of single lines stays below the most. */
const segmentsPerPace = 512;

/**
 * What a session says, in segments of 1 MiB or half a second, each put once and never changed (H17). At a new epoch the numbers
 * begin again.
 */
export class OutputRoad {
  private lines: Buffer[] = [];
  private bytes = 0;
  private full = false;
  private closed = false;
  private next = { epoch: 0, segment: 0 };
  private sending: Promise<void> | undefined;
  private spent = false;
  private arrived = 0;
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly farm: Farm,
    private readonly lease: HeldLease,
    private readonly log: Log,
  ) {}

  write(event: ProviderEvent): void {
    if (this.closed) return;
    if (this.bytes > waitingBytesMost) {
      if (!this.full) this.log.warn('more output waits for the farm than may wait; the newest is left out');
      this.full = true;
      return;
    }
    this.add(Buffer.from(`${JSON.stringify(event)}\n`));
  }

  /** Bytes as a command said them; returns when there is room for more. Nothing past what one lease may store. */
  async writeBytes(chunk: Buffer): Promise<void> {
    if (this.closed || this.spent || chunk.length === 0) return;
    this.add(chunk);
    while (this.bytes > commandWaitsAbove && !this.lease.isLost)
      await new Promise<void>((resolve) => this.waiting.add(resolve));
  }

  /** How many bytes the farm has. */
  get arrivedBytes(): number {
    return this.arrived;
  }

  private add(content: Buffer): void {
    this.lines.push(content);
    this.bytes += content.length;
    this.start();
  }

  /** Brings the rest up; returns when the farm has it or the lease is lost. More may be written after it. */
  async flush(): Promise<void> {
    this.closed = true;
    while (this.sending !== undefined) await this.sending;
    this.closed = false;
  }

  private start(): void {
    this.sending ??= this.send().finally(() => {
      this.sending = undefined;
      // one that came just after the last segment
      if (this.lines.length > 0) this.start();
    });
  }

  private async send(): Promise<void> {
    while (this.lines.length > 0) {
      if (!this.closed && this.bytes < segmentBytes)
        await pause(segmentMs * 2 ** Math.floor(this.next.segment / segmentsPerPace));
      await this.put(this.take()).catch((error: unknown) => {
        if (error instanceof FarmError && error.code === 'too_large') this.spend();
        this.log.warn({ fault: faultOf(error) }, 'a segment of output was refused');
      });
      this.wake();
    }
  }

  /** The farm takes no more of this lease: the rest is dropped, and who reads is told that it ends early. */
  private spend(): void {
    this.spent = true;
    this.lines = [];
    this.bytes = 0;
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }

  private take(): Buffer {
    const taken: Buffer[] = [];
    let size = 0;
    while (this.lines[0] !== undefined && (size === 0 || size + this.lines[0].length <= segmentBytes)) {
      size += this.lines[0].length;
      taken.push(this.lines[0]);
      this.lines.shift();
    }
    this.bytes -= size;
    return Buffer.concat(taken);
  }

  /** A stale lease may be given back at the next epoch: then the segment goes up there. */
  private async put(content: Buffer): Promise<void> {
    for (;;) {
      if ((await this.lease.sure()) === 'lost') return;
      const { fence, epoch, job } = this.lease;
      if (this.next.epoch !== epoch) this.next = { epoch, segment: 0 };
      const road = roadTo(objectPaths.output, { job, epoch, segment: this.next.segment });
      try {
        await untilAnswered(() => this.farm.put(road, () => content, content.length, { jobToken: this.lease.token }), {
          again: ['disk_full'],
        });
        this.next.segment += 1;
        this.arrived += content.length;
        return;
      } catch (error) {
        if (!(error instanceof FarmError) || error.code !== 'stale_lease') {
          this.next.segment += 1;
          throw error;
        }
        this.lease.question(fence);
      }
    }
  }
}
