import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { FarmError } from '#contracts';
import { createPrivateJson } from './private-json.js';

/** Seals secrets that the farm must give out again, such as the credential of a repository (H30). */
export interface Vault {
  /**
   * AES-256-GCM under the key file of the data folder. `place` says what the secret is of: sealed bytes that are moved to another
   * row open there for nobody.
   */
  seal(place: string, secret: string): Buffer;
  /** @throws FarmError misconfigured when another key, another place or other bytes */
  open(place: string, sealed: Uint8Array): string;
  /** Says "the same" and nothing else: for names that are made of secrets. Hex. */
  digest(text: string): string;
}

const SealingKey = z.strictObject({ id: z.string().length(8), key: z.string() });

const version = 1;
const ivBytes = 12;
const tagBytes = 16;
const headBytes = 1 + 8 + ivBytes + tagBytes;

/** @param folder `<data>/keys`; the key is made when it is not there, 0600 */
export async function openVault(folder: string): Promise<Vault> {
  const { id, key } = await createPrivateJson(join(folder, 'sealing.json'), SealingKey, () => ({
    id: randomBytes(6).toString('base64url'),
    key: randomBytes(32).toString('base64url'),
  }));
  const root = Buffer.from(key, 'base64url');
  const sealing = derive(root, 'seal');
  const naming = derive(root, 'digest');
  return {
    seal(place, secret) {
      const iv = randomBytes(ivBytes);
      const head = Buffer.concat([Buffer.of(version), Buffer.from(id, 'latin1'), iv]);
      const cipher = createCipheriv('aes-256-gcm', sealing, iv).setAAD(boundTo(head, place));
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return Buffer.concat([head, cipher.getAuthTag(), text]);
    },
    open(place, given) {
      const sealed = Buffer.from(given);
      const head = sealed.subarray(0, headBytes - tagBytes);
      if (sealed.length < headBytes || sealed[0] !== version) throw unreadable();
      if (head.toString('latin1', 1, 9) !== id) throw unreadable();
      try {
        const decipher = createDecipheriv('aes-256-gcm', sealing, head.subarray(9), { authTagLength: tagBytes })
          .setAAD(boundTo(head, place))
          .setAuthTag(sealed.subarray(headBytes - tagBytes, headBytes));
        return Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]).toString('utf8');
      } catch {
        throw unreadable();
      }
    },
    digest: (text) => createHmac('sha256', naming).update(text).digest('hex'),
  };
}

function derive(root: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', root, Buffer.alloc(0), `longshore ${purpose}`, 32));
}

function boundTo(head: Buffer, place: string): Buffer {
  return Buffer.concat([head, Buffer.from(place, 'utf8')]);
}

const unreadable = (): FarmError =>
  new FarmError('misconfigured', 'A sealed secret does not open with the sealing key of this data folder.', {
    hint: 'Put keys/sealing.json of the data folder back from a copy, or give the secret again (longshore repo add --replace).',
  });
