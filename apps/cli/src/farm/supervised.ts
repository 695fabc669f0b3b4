import { setTimeout as pause } from 'node:timers/promises';
import { failureOf } from '../output/failure.js';
import type { NodeProcess, ProcessEnd } from './node-process.js';

/** What a supervised program is once it runs. */
interface Running {
  readonly process: NodeProcess;
}

export interface SupervisedOptions<T extends Running> {
  readonly name: string;
  readonly start: () => Promise<T>;
  /** Start it again when it ends by itself. */
  readonly again: boolean;
  readonly say: (line: string) => void;
  /** Each process, as soon as it runs. */
  readonly onStarted?: (running: T) => Promise<void>;
}

const firstBackoffMs = 1_000;
const longestBackoffMs = 30_000;
/** A process that ran this long did not fail at its start: the next backoff begins anew. */
const soundMs = 60_000;

/** One of our programs, kept up: what ends by itself is started again, later each time that it does not hold. */
export class Supervised<T extends Running> {
  private running: T | undefined;
  private readonly ending = new AbortController();
  private keeping: Promise<void> = Promise.resolve();

  constructor(private readonly options: SupervisedOptions<T>) {}

  /** The process that runs now or ran last; undefined before the first. */
  get current(): T | undefined {
    return this.running;
  }

  async begin(): Promise<T> {
    const running = await this.startOne();
    if (this.options.again) this.keeping = this.keepUp(running);
    return running;
  }

  async stop(patienceMs: number): Promise<ProcessEnd | undefined> {
    this.ending.abort();
    const end = await this.running?.process.stop(patienceMs);
    await this.keeping;
    return end;
  }

  private async startOne(): Promise<T> {
    const running = await this.options.start();
    this.running = running;
    await this.options.onStarted?.(running);
    return running;
  }

  private async keepUp(first: T): Promise<void> {
    const { name, say } = this.options;
    let backoffMs = firstBackoffMs;
    for (let running: T | undefined = first; !this.ending.signal.aborted; ) {
      const since = performance.now();
      const end: ProcessEnd | undefined = await running?.process.ended;
      if (this.ending.signal.aborted) return;
      if (performance.now() - since > soundMs) backoffMs = firstBackoffMs;
      if (end !== undefined)
        say(`${name} ended by itself (${end.signal ?? `exit ${end.code}`}); again in ${backoffMs / 1000} s`);
      await pause(backoffMs, undefined, { signal: this.ending.signal }).catch(() => undefined);
      if (this.ending.signal.aborted) return;
      backoffMs = Math.min(2 * backoffMs, longestBackoffMs);
      running = await this.startOne().catch((error: unknown) => {
        say(`${name} does not start: ${failureOf(error).message}`);
        return undefined;
      });
      // Asked to end while it started: nobody else knows this process.
      if (this.ending.signal.aborted) await running?.process.stop(firstBackoffMs);
    }
  }
}
