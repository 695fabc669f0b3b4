import { createHmac, hash, type KeyObject, randomUUID, sign } from 'node:crypto';
import { errors, jwtVerify } from 'jose';
import { FarmError, limits } from '#contracts';
import type { SigningKey, SigningKeys } from '../keys/signing-keys.js';
import type { TokenAlgorithm, TokenKind } from './token-kinds.js';

/** Tokens that were verified, so that a signature is checked once and not at every call. */
const rememberedTokens = 10_000;

type StandardClaim = 'iss' | 'iat' | 'exp' | 'jti';

interface Remembered<Claims> {
  readonly kid: string;
  readonly claims: Claims;
  readonly expiresAt: number;
}

interface TokenIssuerOptions {
  readonly keys: SigningKeys;
  /** Names this farm: a token of another one is refused. */
  readonly issuer: string;
  readonly now?: () => number;
}

/** Mints and reads the tokens of one kind, and no other's (S4.1). */
export class TokenIssuer<Claims extends { readonly exp: number }> {
  private readonly remembered = new Map<string, Remembered<Claims>>();
  private readonly keys: SigningKeys;
  private readonly issuer: string;
  private readonly now: () => number;

  constructor(
    private readonly kind: TokenKind<Claims>,
    { keys, issuer, now = Date.now }: TokenIssuerOptions,
  ) {
    this.keys = keys;
    this.issuer = issuer;
    this.now = now;
  }

  /** With node:crypto and the key at hand. */
  mint(claims: Omit<Claims, StandardClaim>, livesSeconds: number): string {
    const key = this.keys.current;
    const [algorithm] = this.kind.algorithms;
    const iat = Math.floor(this.now() / 1000);
    const payload = encode({ ...claims, iss: this.issuer, iat, exp: iat + Math.ceil(livesSeconds), jti: randomUUID() });
    const text = `${encode({ alg: algorithm, typ: this.kind.typ, kid: key.kid })}.${payload}`;
    return `${text}.${byAlgorithm[algorithm].sign(text, key)}`;
  }

  /** The claims of a token of this kind. Errors: FarmError unauthenticated, for whatever reason. */
  async verify(token: string): Promise<Claims> {
    const name = hash('sha256', token, 'base64url');
    const known = this.remembered.get(name);
    // A retired key takes its tokens with it, remembered or not.
    if (known && known.expiresAt > this.now() && this.keys.find(known.kid)) return known.claims;
    try {
      const read = await this.read(token, new Date(this.now()));
      this.remember(name, read);
      return read.claims;
    } catch (cause) {
      throw new FarmError('unauthenticated', undefined, { cause });
    }
  }

  /** The claims of a token that may have run out: it proves who once held it, and opens nothing by itself. Errors as `verify`. */
  async verifyPast(token: string): Promise<Claims> {
    try {
      return (await this.read(token, new Date(0))).claims;
    } catch (cause) {
      throw new FarmError('unauthenticated', undefined, { cause });
    }
  }

  private async read(token: string, at: Date): Promise<Remembered<Claims>> {
    const { payload, protectedHeader } = await jwtVerify(token, (header) => this.keyFor(header), {
      algorithms: [...this.kind.algorithms],
      typ: this.kind.typ,
      issuer: this.issuer,
      clockTolerance: limits.clockSkewSeconds,
      currentDate: at,
    });
    const claims = this.kind.claims.parse(payload);
    return { kid: protectedHeader.kid ?? '', claims, expiresAt: (claims.exp + limits.clockSkewSeconds) * 1000 };
  }

  private remember(name: string, read: Remembered<Claims>): void {
    if (this.remembered.size >= rememberedTokens) {
      const oldest = this.remembered.keys().next();
      if (!oldest.done) this.remembered.delete(oldest.value);
    }
    this.remembered.set(name, read);
  }

  /** Each algorithm has a key of its own, so that a public key is never taken for a secret (RFC 8725 §2.1). */
  private async keyFor({ alg, kid }: { readonly alg?: string; readonly kid?: string }): Promise<KeyObject> {
    const algorithm = this.kind.algorithms.find((known) => known === alg);
    const key = kid === undefined ? undefined : await this.keys.search(kid);
    if (!key || !algorithm) throw new errors.JWKSNoMatchingKey();
    return byAlgorithm[algorithm].verifies(key);
  }
}

interface Algorithm {
  readonly sign: (text: string, key: SigningKey) => string;
  readonly verifies: (key: SigningKey) => KeyObject;
}

/** Which of them is the kind's to say, never the token's (S4.1). */
const byAlgorithm: Readonly<Record<TokenAlgorithm, Algorithm>> = {
  EdDSA: {
    sign: (text, key) => sign(null, Buffer.from(text), key.sign).toString('base64url'),
    verifies: (key) => key.verify,
  },
  HS256: {
    sign: (text, key) => createHmac('sha256', key.secret).update(text).digest('base64url'),
    verifies: (key) => key.secret,
  },
};

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
