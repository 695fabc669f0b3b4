import { formsOfSecrets, joined, spansOf } from '../provider/secret-spans.js';

const hidden = Buffer.from('***');

/**
 * Takes the secrets that a repository gave to a command out of what the command says (H35), also one that comes in pieces: only
 * bytes that may be the beginning of one wait for the next piece, and they wait as they came.
 */
export class SecretFilter {
  private readonly forms: readonly Buffer[];
  private held: Buffer = Buffer.alloc(0);
  /** So many of the held bytes belong to a secret that was hidden already. */
  private told = 0;

  constructor(secrets: Readonly<Record<string, string>> = {}) {
    this.forms = formsOfSecrets(Object.values(secrets)).map((form) => Buffer.from(form));
  }

  /** What may be shown of all that was said so far and not shown yet. */
  pass(chunk: Buffer): Buffer {
    if (this.forms.length === 0) return chunk;
    const bytes = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk]);
    // in the bytes as they came: what is hidden may still be the beginning of a longer one
    return this.show(bytes, bytes.length - this.forms.reduce((most, form) => Math.max(most, openEnd(bytes, form)), 0));
  }

  /** Nothing more comes. */
  rest(): Buffer {
    return this.show(this.held, this.held.length);
  }

  /** The bytes before `end` without secrets; what stands from there on waits. */
  private show(bytes: Buffer, end: number): Buffer {
    const parts: Buffer[] = [];
    let from = 0;
    let told = 0;
    const before = this.told > 0 ? [{ from: 0, to: this.told }] : [];
    for (const span of joined([...before, ...spansOf<Buffer>(bytes, this.forms)])) {
      if (span.from >= end) break;
      parts.push(bytes.subarray(from, span.from));
      if (span.from > 0 || this.told === 0) parts.push(hidden);
      from = Math.min(span.to, end);
      told = Math.max(0, span.to - end);
    }
    parts.push(bytes.subarray(from, end));
    this.held = bytes.subarray(end);
    // where nothing was shown, what was told of before still counts
    this.told = end === 0 ? this.told : told;
    return Buffer.concat(parts);
  }
}

/** How many bytes at the end are a beginning of the secret. */
function openEnd(bytes: Buffer, secret: Buffer): number {
  const [first = 0] = secret;
  const earliest = Math.max(0, bytes.length - secret.length + 1);
  for (let at = bytes.indexOf(first, earliest); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (secret.compare(bytes, at, bytes.length, 0, bytes.length - at) === 0) return bytes.length - at;
  }
  return 0;
}
