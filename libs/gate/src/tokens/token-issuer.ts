import { hash, randomUUID, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { errors, jwtVerify } from 'jose';
import { FarmError, limits } from '#contracts';
import type { SigningKeys } from '../keys/signing-keys.js';
import type { TokenKind } from './token-kinds.js';

const signAside = promisify(sign);

/** The one algorithm, here and nowhere in a token's hands (S4.1). */
const algorithm = 'EdDSA';

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

  /** With node:crypto and the key at hand: it takes 40 µs. */
  mint(claims: Omit<Claims, StandardClaim>, livesSeconds: number): string {
    const { text, key } = this.draft(claims, livesSeconds);
    return signed(text, sign(null, Buffer.from(text), key));
  }

  /** The same on another thread: for the leases of a claim, each of which gets one while all other calls would wait. */
  async mintAside(claims: Omit<Claims, StandardClaim>, livesSeconds: number): Promise<string> {
    const { text, key } = this.draft(claims, livesSeconds);
    return signed(text, await signAside(null, Buffer.from(text), key));
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

  private draft(claims: Omit<Claims, StandardClaim>, livesSeconds: number) {
    const { kid, sign: key } = this.keys.current;
    const iat = Math.floor(this.now() / 1000);
    const header = encode({ alg: algorithm, typ: this.kind.typ, kid });
    const payload = encode({ ...claims, iss: this.issuer, iat, exp: iat + Math.ceil(livesSeconds), jti: randomUUID() });
    return { text: `${header}.${payload}`, key };
  }

  private async read(token: string, at: Date): Promise<Remembered<Claims>> {
    const { payload, protectedHeader } = await jwtVerify(token, (header) => this.keyFor(header.kid), {
      algorithms: [algorithm],
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

  private async keyFor(kid: string | undefined) {
    const key = kid === undefined ? undefined : await this.keys.search(kid);
    if (!key) throw new errors.JWKSNoMatchingKey();
    return key.verify;
  }
}

function signed(text: string, signature: Buffer): string {
  return `${text}.${signature.toString('base64url')}`;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
