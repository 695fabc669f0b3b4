import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';

/** DER of an Ed25519 public key up to its 32 bytes (RFC 8410). */
const spkiHeader = Buffer.from('302a300506032b6570032100', 'hex');

/** PKCS#8 DER, base64url: how private keys lie in our files. */
export function newPrivateKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  return privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64url');
}

export function privateKeyOf(text: string): KeyObject {
  return createPrivateKey({ key: Buffer.from(text, 'base64url'), format: 'der', type: 'pkcs8' });
}

/** The 32 bytes of the public key, base64url. */
export function rawPublicKey(key: KeyObject): string {
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(spkiHeader.length).toString('base64url');
}

export function publicKeyOf(raw: string): KeyObject {
  return createPublicKey({
    key: Buffer.concat([spkiHeader, Buffer.from(raw, 'base64url')]),
    format: 'der',
    type: 'spki',
  });
}

/** Ed25519 over the UTF-8 text, base64url. */
export function signText(key: KeyObject, text: string): string {
  return sign(null, Buffer.from(text), key).toString('base64url');
}

/** False for a key that is none, too: the caller learns no more than "no". */
export function isSignedBy(rawKey: string, text: string, signature: string): boolean {
  try {
    return verify(null, Buffer.from(text), publicKeyOf(rawKey), Buffer.from(signature, 'base64url'));
  } catch {
    return false;
  }
}

/** Name of a key by its content: RFC 7638 thumbprint (S4.4). */
export function thumbprint(raw: string): string {
  return createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${raw}"}`).digest('base64url');
}

/** SHA-256 of the 32 bytes, base64url: what a join ticket carries (H36). */
export function fingerprintOf(raw: string): string {
  return createHash('sha256').update(Buffer.from(raw, 'base64url')).digest('base64url');
}
