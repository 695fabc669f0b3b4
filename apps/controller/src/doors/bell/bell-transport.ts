import { type CustomTransportStrategy, Server, Transport } from '@nestjs/microservices';
import type { Bell } from '#store';

/**
 * Nest's NATS transport over the bell of #store. Nest's own connects once, before the application starts, reads what a message
 * holds and logs what it can not read; a bell may be away at any time, and nobody reads more of a ring than its subject (H18, H25).
 */
export class BellTransport extends Server implements CustomTransportStrategy {
  override readonly transportId = Transport.NATS;
  private readonly silence: (() => void)[] = [];

  constructor(private readonly bell: Bell) {
    super();
  }

  listen(callback: () => void): void {
    for (const [subject, handler] of this.messageHandlers)
      this.silence.push(this.bell.listen(subject, (rung) => void handler(rung)));
    callback();
  }

  close(): void {
    for (const stop of this.silence.splice(0)) stop();
  }

  on(): never {
    throw new Error('a bell has no events');
  }

  unwrap(): never {
    throw new Error('a bell has no server');
  }
}
