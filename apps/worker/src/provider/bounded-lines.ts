import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/**
 * The lines of a provider's stream, read only as fast as they are taken: what nobody takes stays in the pipe and holds the
 * writer up. A line over `maxBytes` is thrown away while it comes, so that memory stays flat under a flood.
 */
export async function* boundedLines(stream: Readable, maxBytes: number): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let held = 0;
  let skipping = false;

  for await (const chunk of stream) {
    let rest: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    for (let end = rest.indexOf(newline); end !== -1; end = rest.indexOf(newline)) {
      if (!skipping && held + end <= maxBytes) yield Buffer.concat([...parts, rest.subarray(0, end)]).toString('utf8');
      parts = [];
      held = 0;
      skipping = false;
      rest = rest.subarray(end + 1);
    }
    held += rest.length;
    skipping ||= held > maxBytes;
    if (skipping) parts = [];
    else parts.push(rest);
  }
  if (!skipping && held > 0) yield Buffer.concat(parts).toString('utf8');
}

const newline = 0x0a;

/** The last `maxChars` of a stream, read to its end so that its writer is never held up. */
export class StreamTail {
  private tail = '';

  constructor(
    stream: Readable,
    private readonly maxChars: number,
  ) {
    const decoder = new StringDecoder('utf8');
    stream.on('data', (chunk: Buffer) => {
      this.tail = (this.tail + decoder.write(chunk)).slice(-this.maxChars);
    });
    stream.on('error', () => {});
  }

  get text(): string {
    return this.tail;
  }
}
