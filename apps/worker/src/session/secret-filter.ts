/** What is shorter than a secret can be would tear words apart. */
const leastBytes = 8;
const hidden = Buffer.from('***');

/**
 * Takes the secrets that a repository gave to a command out of what the command says, also one that comes in two pieces: only bytes
 * that may be the beginning of one wait for the next piece.
 */
export class SecretFilter {
  private readonly secrets: readonly Buffer[];
  private held: Buffer = Buffer.alloc(0);

  constructor(secrets: Readonly<Record<string, string>> = {}) {
    this.secrets = Object.values(secrets)
      .map((secret) => Buffer.from(secret))
      .filter((secret) => secret.length >= leastBytes)
      // one secret may hold another
      .sort((one, other) => other.length - one.length);
  }

  /** What may be shown of all that was said so far and not shown yet. */
  pass(chunk: Buffer): Buffer {
    if (this.secrets.length === 0) return chunk;
    const clean = this.without(this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk]));
    const keep = this.secrets.reduce((most, secret) => Math.max(most, openEnd(clean, secret)), 0);
    this.held = clean.subarray(clean.length - keep);
    return clean.subarray(0, clean.length - keep);
  }

  /** Nothing more comes. */
  rest(): Buffer {
    const { held } = this;
    this.held = Buffer.alloc(0);
    return held;
  }

  private without(bytes: Buffer): Buffer {
    return this.secrets.reduce((text, secret) => replaceAll(text, secret), bytes);
  }
}

function replaceAll(bytes: Buffer, secret: Buffer): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = bytes.indexOf(secret); at >= 0; at = bytes.indexOf(secret, from)) {
    parts.push(bytes.subarray(from, at), hidden);
    from = at + secret.length;
  }
  return parts.length === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(from)]);
}

/** How many bytes at the end are a beginning of the secret. */
function openEnd(bytes: Buffer, secret: Buffer): number {
  for (let length = Math.min(secret.length - 1, bytes.length); length > 0; length -= 1) {
    if (bytes.subarray(bytes.length - length).equals(secret.subarray(0, length))) return length;
  }
  return 0;
}
