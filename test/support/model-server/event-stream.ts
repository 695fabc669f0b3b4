import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/** One server-sent event. */
export interface StreamEvent {
  readonly event: string;
  readonly data: object;
}

/** Writes a stream of events piece by piece, as long as somebody listens. */
export class EventStream {
  constructor(private readonly response: ServerResponse) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  }

  async send(events: readonly StreamEvent[]): Promise<void> {
    for (const { event, data } of events) {
      if (this.response.destroyed) return;
      if (!this.response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)) {
        await Promise.race([once(this.response, 'drain'), once(this.response, 'close')]);
      }
    }
  }

  end(): void {
    this.response.end();
  }

  /** The connection breaks. */
  breakOff(): void {
    this.response.destroy();
  }
}

/** A text in a few pieces, as models send it. */
export function piecesOf(text: string): readonly [readonly string[], readonly string[]] {
  const half = Math.ceil(text.length / 2);
  const cut = (part: string) => part.match(/[\s\S]{1,400}/g) ?? [];
  return [cut(text.slice(0, half)), cut(text.slice(half))];
}
