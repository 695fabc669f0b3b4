import type { ProviderEvent, ProviderFailure } from './events.js';

/**
 * When a session counts as begun: at the model's first answer, not when its program made a thread. An account that the model refuses at
 * its first request never had a session: then the Dispatch goes elsewhere and nothing of it is spent (H11).
 */
export class SessionGate {
  private thread: string | undefined;
  private state: 'shut' | 'open' | 'refused' = 'shut';

  /** `program` as people call it. */
  constructor(private readonly program: string) {}

  /** The name of the session, once it is known that the model answered. */
  get ref(): string | undefined {
    return this.state === 'open' ? this.thread : undefined;
  }

  get threadId(): string | undefined {
    return this.thread;
  }

  takeThread(id: string): void {
    this.thread ??= id;
  }

  /** The `session` event, the first time that it is asked for after a thread is there. */
  open(): ProviderEvent | undefined {
    if (this.state !== 'shut' || this.thread === undefined) return undefined;
    this.state = 'open';
    return { type: 'session', ref: this.thread };
  }

  expand(event: ProviderEvent): readonly ProviderEvent[] {
    if (event.type === 'session' || event.type === 'exit') return [event];
    if (event.type === 'failed') return this.expandFailure(event.failure);
    const session = this.open();
    return session === undefined ? [event] : [session, event];
  }

  /** Why a process is gone that no line explained. */
  whyNotBegun(): ProviderFailure | undefined {
    return this.thread === undefined
      ? { class: 'environment', detail: `${this.program} ended before it took a session.` }
      : undefined;
  }

  private expandFailure(failure: ProviderFailure): readonly ProviderEvent[] {
    const event: ProviderEvent = { type: 'failed', failure };
    const begins = this.thread !== undefined && !['auth', 'environment', 'invalid'].includes(failure.class);
    const session = begins ? this.open() : undefined;
    if (this.state === 'shut') this.state = 'refused';
    return session === undefined ? [event] : [session, event];
  }
}
