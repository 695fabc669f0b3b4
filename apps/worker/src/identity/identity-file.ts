import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { EnrolReply, FarmError, PublicKey } from '#contracts';
import { readIfThere, writePrivateFile } from '../private-file.js';

const IdentityFile = z.strictObject({
  /** Ed25519, PKCS#8 DER, base64url. */
  private_key: z.string(),
  public_key: PublicKey,
  url: z.url(),
  /** Absent until the farm took the key in. */
  enrolled: EnrolReply.optional(),
});
export type Identity = z.output<typeof IdentityFile>;
export type EnrolledIdentity = Identity & { readonly enrolled: EnrolReplyOf };
type EnrolReplyOf = z.output<typeof EnrolReply>;

/**
 * @throws FarmError `misconfigured` when the file is damaged or others may read it
 */
export async function readIdentity(path: string): Promise<Identity | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) {
    throw new FarmError('misconfigured', "Others may read the worker's identity.json.", {
      hint: 'Set its mode to 0600; if it was read, remove the worker and join again.',
    });
  }
  const parsed = IdentityFile.safeParse(fromJson(text));
  if (parsed.success) return parsed.data;
  throw new FarmError('misconfigured', "The worker's identity.json is damaged.", {
    hint: 'Restore it, or move it away and join with a new ticket.',
  });
}

export function writeIdentity(path: string, identity: Identity): Promise<void> {
  return writePrivateFile(path, `${JSON.stringify(identity, undefined, 2)}\n`);
}

export function newIdentity(url: string): Identity {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return {
    private_key: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64url'),
    public_key: x,
    url,
  };
}

/** Ed25519 over UTF-8, base64url. */
export function signWith(identity: Identity, text: string): string {
  const key = createPrivateKey({ key: Buffer.from(identity.private_key, 'base64url'), format: 'der', type: 'pkcs8' });
  return sign(null, Buffer.from(text), key).toString('base64url');
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
