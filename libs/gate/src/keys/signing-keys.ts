import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { FarmError, limits } from '#contracts';
import { newPrivateKey, privateKeyOf, publicKeyOf, rawPublicKey, thumbprint } from './ed25519.js';
import { createPrivateJson, readPrivateJson, replacePrivateJson } from './private-json.js';

const StoredKey = z.strictObject({ private_key: z.string() });
const StoredKeys = z.strictObject({
  current: StoredKey,
  /** Published long before it signs, so that nobody meets it unprepared. */
  next: StoredKey,
  /** Verifies what it signed until that has expired. */
  previous: StoredKey.optional(),
  rotated_at: z.iso.datetime(),
});
type StoredKeys = z.output<typeof StoredKeys>;

export interface SigningKey {
  readonly kid: string;
  readonly sign: KeyObject;
  readonly verify: KeyObject;
  /** Derived from the private key: for tokens that nobody but controllers reads. It comes and goes with its key. */
  readonly secret: KeyObject;
  /** The public key, 32 bytes, base64url. */
  readonly raw: string;
}

/** The keys by their names. */
export interface KeyRing {
  readonly current: string;
  readonly next: string;
  readonly previous: string | undefined;
  readonly rotatedAt: Date;
  /** Before that a rotation is refused. */
  readonly rotatableAt: Date;
}

/** An unknown kid is looked for in the file once a minute, not once a call (S4.4). */
const refreshMs = 60_000;
/** Another controller may sign with the key before for so long after a rotation: its upkeep reads the file each minute. */
const lateMs = 2 * refreshMs;
/** Nothing that the key before signed lives longer after a rotation. */
const previousMs = (limits.personTokenSeconds + limits.clockSkewSeconds) * 1000 + lateMs;
/** By then whoever keeps a copy of what we publish has the next key in it. */
const publishedMs = limits.jwksCacheSeconds * 1000 + lateMs;

/** The farm's signing keys, in one file that all controllers read. */
export class SigningKeys {
  private keys: readonly SigningKey[] = [];
  private previous: SigningKey | undefined;
  private refreshedAt = Number.NEGATIVE_INFINITY;

  private constructor(
    private readonly path: string,
    private stored: StoredKeys,
    private readonly now: () => number,
  ) {
    this.take(stored);
  }

  static async open(folder: string, now: () => number = Date.now): Promise<SigningKeys> {
    const path = join(folder, 'signing.json');
    const stored = await createPrivateJson(path, StoredKeys, () => ({
      current: { private_key: newPrivateKey() },
      next: { private_key: newPrivateKey() },
      rotated_at: new Date(now()).toISOString(),
    }));
    return new SigningKeys(path, stored, now);
  }

  get current(): SigningKey {
    const [current] = this.keys;
    if (!current) throw new TypeError('there are no signing keys');
    return current;
  }

  find(kid: string): SigningKey | undefined {
    return this.valid().find((key) => key.kid === kid);
  }

  /** The names of the keys, and when which of them does what. */
  get ring(): KeyRing {
    const [current, next] = this.keys;
    const previous = this.valid()[2];
    return {
      current: current?.kid ?? '',
      next: next?.kid ?? '',
      previous: previous?.kid,
      rotatedAt: new Date(this.stored.rotated_at),
      rotatableAt: new Date(this.rotatableAt()),
    };
  }

  /** Looks for a key that another controller may have made. */
  async search(kid: string): Promise<SigningKey | undefined> {
    const known = this.find(kid);
    if (known || this.now() - this.refreshedAt < refreshMs) return known;
    await this.refresh();
    return this.find(kid);
  }

  /** Reads what another controller may have rotated. */
  async refresh(): Promise<void> {
    this.refreshedAt = this.now();
    const stored = await readPrivateJson(this.path, StoredKeys);
    if (stored) this.take(stored);
  }

  /**
   * The next key signs, the current one only verifies, the previous one goes. One controller at a time. Errors: FarmError conflict
   * while somebody may not know the next key yet, or hold a token of the previous one.
   */
  async rotate(): Promise<void> {
    await this.refresh();
    const wait = this.rotatableAt() - this.now();
    if (wait > 0)
      throw new FarmError('conflict', 'The keys were made or rotated a short while ago', {
        hint: `Wait for ${Math.ceil(wait / 60_000)} minutes: the next key is not known everywhere, or tokens of the key before are alive.`,
        retryAfterMs: wait,
      });
    const rotated: StoredKeys = {
      current: this.stored.next,
      next: { private_key: newPrivateKey() },
      previous: this.stored.current,
      rotated_at: new Date(this.now()).toISOString(),
    };
    await replacePrivateJson(this.path, rotated);
    this.take(rotated);
  }

  /** Current, next and previous, public halves only (RFC 7517, RFC 8037). */
  jwks(): { readonly keys: readonly Readonly<Record<string, string>>[] } {
    return {
      keys: this.valid().map(({ kid, raw }) => ({ kty: 'OKP', crv: 'Ed25519', x: raw, kid, use: 'sig', alg: 'EdDSA' })),
    };
  }

  private rotatableAt(): number {
    return Date.parse(this.stored.rotated_at) + (this.stored.previous ? previousMs : publishedMs);
  }

  /** What verifies: the previous key only as long as something that it signed may live. */
  private valid(): readonly SigningKey[] {
    const retired = this.now() >= Date.parse(this.stored.rotated_at) + previousMs;
    return this.previous && !retired ? [...this.keys, this.previous] : this.keys;
  }

  private take(stored: StoredKeys): void {
    this.stored = stored;
    const { current, next, previous } = stored;
    this.keys = [current, next].map(keyOf);
    this.previous = previous && keyOf(previous);
  }
}

function keyOf({ private_key }: z.output<typeof StoredKey>): SigningKey {
  const sign = privateKeyOf(private_key);
  const raw = rawPublicKey(sign);
  return { kid: thumbprint(raw), sign, verify: publicKeyOf(raw), secret: secretOf(private_key), raw };
}

/** HKDF (RFC 5869) with a purpose of its own: what it signs says nothing of the private key, nor of another use of it. */
function secretOf(privateKey: string): KeyObject {
  const der = Buffer.from(privateKey, 'base64url');
  return createSecretKey(Buffer.from(hkdfSync('sha256', der, '', 'longshore tokens that only controllers read', 32)));
}
