import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';

export interface NatsUserRequest {
  /** Seed of the account that the user belongs to (`SA…`). */
  readonly accountSeed: string;
  /** Shown in the server's log and monitoring. */
  readonly name: string;
  /** Subjects that it may hear and ring; none means none. */
  readonly subscribe: readonly string[];
  readonly publish: readonly string[];
  /** When the server cuts the user off. */
  readonly expiresAt: Date;
}

export interface NatsUser {
  /** The text of a creds file: what a client needs, and a secret. */
  readonly creds: string;
  readonly jwt: string;
  readonly seed: string;
  readonly publicKey: string;
  readonly expiresAt: Date;
}

/**
 * Mints a NATS user (H23): a fresh key and a JWT signed by the account, which any server that trusts the account accepts without
 * being told. Takes well under a millisecond. Throws when the seed is no account's.
 */
export function mintNatsUser(request: NatsUserRequest): NatsUser {
  const account = accountOf(request.accountSeed);
  const { privateKey } = generateKeyPairSync('ed25519');
  const user = keysOf(privateKey);
  const publicKey = encodeKey([prefix.user], user.public);
  const seed = encodeKey([prefix.seed | (prefix.user >> 5), (prefix.user & 31) << 3], user.secret);
  const jwt = signed(account, {
    jti: randomUUID(),
    iat: Math.floor(Date.now() / 1000),
    exp: Math.floor(request.expiresAt.getTime() / 1000),
    iss: account.publicKey,
    sub: publicKey,
    name: request.name,
    nats: {
      type: 'user',
      version: 2,
      pub: only(request.publish),
      sub: only(request.subscribe),
      subs: -1,
      data: -1,
      payload: -1,
    },
  });
  return { creds: credsText(jwt, seed), jwt, seed, publicKey, expiresAt: request.expiresAt };
}

/** The server reads an empty allow list as everything. */
const only = (subjects: readonly string[]) => (subjects.length === 0 ? { deny: ['>'] } : { allow: subjects });

interface Account {
  readonly key: KeyObject;
  readonly publicKey: string;
}

/** One account in practice; deriving its key at every mint would cost more than the signature. */
const accounts = new Map<string, Account>();

function accountOf(seed: string): Account {
  const known = accounts.get(seed);
  if (known !== undefined) return known;
  const raw = decodeSeed(seed, prefix.account);
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Header, raw]), format: 'der', type: 'pkcs8' });
  const account = { key, publicKey: encodeKey([prefix.account], keysOf(key).public) };
  accounts.set(seed, account);
  return account;
}

function signed(account: Account, claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const content = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part(claims)}`;
  return `${content}.${sign(null, Buffer.from(content), account.key).toString('base64url')}`;
}

function credsText(jwt: string, seed: string): string {
  return [
    '-----BEGIN NATS USER JWT-----',
    jwt,
    '------END NATS USER JWT------',
    '',
    '-----BEGIN USER NKEY SEED-----',
    seed,
    '------END USER NKEY SEED------',
    '',
  ].join('\n');
}

// NKeys: prefix bytes, 32 bytes of key, CRC-16/XMODEM (little-endian), all in base32 without padding.

const prefix = { seed: 18 << 3, account: 0, user: 20 << 3 } as const;

/** DER of an Ed25519 private key in PKCS #8 up to the 32 bytes of the key itself (RFC 8410). */
const pkcs8Header = Buffer.from('302e020100300506032b657004220420', 'hex');

function keysOf(key: KeyObject): { readonly secret: Buffer; readonly public: Buffer } {
  const { d = '', x = '' } = key.export({ format: 'jwk' });
  return { secret: Buffer.from(d, 'base64url'), public: Buffer.from(x, 'base64url') };
}

function encodeKey(first: readonly number[], key: Buffer): string {
  const body = Buffer.concat([Buffer.from(first), key]);
  const check = Buffer.alloc(2);
  check.writeUInt16LE(crc16(body));
  return base32(Buffer.concat([body, check]));
}

function decodeSeed(seed: string, kind: number): Buffer {
  const bytes = fromBase32(seed);
  const body = bytes.subarray(0, -2);
  const [first = 0, second = 0] = body;
  const isSound = bytes.length === 36 && bytes.readUInt16LE(34) === crc16(body);
  const isKind = (first & 0xf8) === prefix.seed && (((first & 7) << 5) | (second >> 3)) === kind;
  // Never the value: it is a secret, right or wrong.
  if (!isSound || !isKind) throw new Error('not the seed of a NATS account');
  return body.subarray(2);
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32(bytes: Buffer): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += alphabet[(held >> (bits - 5)) & 31];
    held &= 0xff;
  }
  return bits === 0 ? text : text + alphabet[(held << (5 - bits)) & 31];
}

/** Empty for what is none. */
function fromBase32(text: string): Buffer {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const letter of text) {
    const value = alphabet.indexOf(letter);
    if (value < 0) return Buffer.alloc(0);
    held = ((held << 5) | value) & 0xffff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((held >> bits) & 0xff);
  }
  return Buffer.from(bytes);
}

function crc16(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc & 0x8000) !== 0 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc;
}
