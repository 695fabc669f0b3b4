import type { ProviderEvent } from './events.js';

/**
 * Events between a provider's stream and their one reader. `push` waits while `capacity` events lie unread: that is what holds
 * the provider up. Reading may be left and taken up again.
 */
export class EventQueue implements AsyncIterable<ProviderEvent> {
  private readonly waiting: ProviderEvent[] = [];
  private closed = false;
  private changed = Promise.withResolvers<void>();

  constructor(private readonly capacity: number) {}

  async push(event: ProviderEvent): Promise<void> {
    this.waiting.push(event);
    this.wake();
    while (this.waiting.length >= this.capacity) await this.changed.promise;
  }

  close(): void {
    this.closed = true;
    this.wake();
  }

  [Symbol.asyncIterator](): AsyncIterator<ProviderEvent, undefined> {
    return { next: () => this.next() };
  }

  private async next(): Promise<IteratorResult<ProviderEvent, undefined>> {
    for (;;) {
      const value = this.waiting.shift();
      if (value !== undefined) {
        this.wake();
        return { value, done: false };
      }
      if (this.closed) return { value: undefined, done: true };
      await this.changed.promise;
    }
  }

  private wake(): void {
    this.changed.resolve();
    this.changed = Promise.withResolvers<void>();
  }
}
