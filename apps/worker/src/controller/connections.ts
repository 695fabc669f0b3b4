import { Agent, type Dispatcher } from 'undici';

/**
 * Connections to the controller, apart by what they carry: neither an upload nor a waiting claim can hold a beat up (D18).
 */
export class Connections {
  readonly calls: Dispatcher = new Agent({ connections: 32, pipelining: 1, connect: { timeout: 5_000 } });
  readonly waits: Dispatcher = new Agent({ connections: 2, pipelining: 1, connect: { timeout: 5_000 } });
  readonly bytes: Dispatcher = new Agent({ connections: 4, pipelining: 1, connect: { timeout: 5_000 } });

  /** A connection of its own, made anew after a beat that got no answer. */
  fresh(): Dispatcher {
    return new Agent({ connections: 4, pipelining: 1, connect: { timeout: 2_000 } });
  }

  async close(): Promise<void> {
    await Promise.all([this.calls, this.waits, this.bytes].map((dispatcher) => dispatcher.destroy()));
  }
}
