import type { WorkerEvent } from '../../farm/worker-process.js';

export interface WatchedEvent extends WorkerEvent {
  readonly worker: string;
}

type Fits = (event: WatchedEvent) => boolean;

/** What all workers have said, and a way to await what one of them will say. */
export class WorkerWatch {
  readonly events: WatchedEvent[] = [];
  private readonly waiting = new Set<(event: WatchedEvent) => void>();

  add(worker: string, event: WorkerEvent): void {
    const watched = { ...event, worker };
    this.events.push(watched);
    for (const look of this.waiting) look(watched);
  }

  /** Whose Dispatch a job is. */
  memberOf(job: string | undefined): string | undefined {
    const claimed = this.events.find((event) => event.event === 'claimed' && event.job === job);
    return typeof claimed?.member === 'string' ? claimed.member : undefined;
  }

  /** The first event that fits, also one that came before; rejects when `signal` aborts. */
  until(fits: Fits, signal: AbortSignal): Promise<WatchedEvent> {
    const before = this.events.find(fits);
    if (before !== undefined) return Promise.resolve(before);
    return new Promise((resolve, reject) => {
      const done = (): void => {
        this.waiting.delete(look);
        signal.removeEventListener('abort', stop);
      };
      const look = (event: WatchedEvent): void => {
        if (!fits(event)) return;
        done();
        resolve(event);
      };
      const stop = (): void => {
        done();
        reject(signal.reason);
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', stop);
      this.waiting.add(look);
    });
  }
}
