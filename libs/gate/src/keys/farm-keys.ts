import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { canonicalJson } from '#contracts';
import { fingerprintOf, newPrivateKey, privateKeyOf, rawPublicKey, signText } from './ed25519.js';
import { createPrivateJson } from './private-json.js';
import { SigningKeys } from './signing-keys.js';
import { openVault, type Vault } from './vault.js';

const Enrolment = z.strictObject({ private_key: z.string() });
const HashKey = z.strictObject({ id: z.string(), key: z.string() });

/** Hashes that say "the same input" and nothing else: keyed, so that a short text can not be guessed (A7.5). */
export interface InputHasher {
  readonly keyId: string;
  hash(operation: string, input: unknown): Buffer;
}

/** Shows that this is the controller that a join ticket names. Lives as long as the farm (H36). */
interface EnrolmentKey {
  readonly raw: string;
  readonly fingerprint: string;
  sign(text: string): string;
}

/** Seals the audit. Of its own: it lives as long as the farm (H43). */
export interface AuditKey {
  readonly id: string;
  mac(text: string): Buffer;
}

/** All secrets of the farm that are no rows. One folder, 0700, shared by all controllers (D23). */
export interface FarmKeys {
  readonly signing: SigningKeys;
  readonly enrolment: EnrolmentKey;
  readonly inputs: InputHasher;
  readonly audit: AuditKey;
  readonly vault: Vault;
  /** Authenticates short texts of our own, such as challenges. */
  seal(text: string): string;
}

/** @param folder `<data>/keys`; made with its keys when it is not there */
export async function openFarmKeys(folder: string, now: () => number = Date.now): Promise<FarmKeys> {
  const signing = await SigningKeys.open(folder, now);
  const enrolment = await createPrivateJson(join(folder, 'enrolment.json'), Enrolment, () => ({
    private_key: newPrivateKey(),
  }));
  const hashing = await createPrivateJson(join(folder, 'hash.json'), HashKey, newHashKey);
  const sealing = await createPrivateJson(join(folder, 'audit.json'), HashKey, newHashKey);
  const enrolmentKey = privateKeyOf(enrolment.private_key);
  const raw = rawPublicKey(enrolmentKey);
  const secret = createSecretKey(Buffer.from(hashing.key, 'base64url'));
  const auditSecret = createSecretKey(Buffer.from(sealing.key, 'base64url'));
  return {
    signing,
    vault: await openVault(folder),
    enrolment: { raw, fingerprint: fingerprintOf(raw), sign: (text) => signText(enrolmentKey, text) },
    inputs: {
      keyId: hashing.id,
      hash: (operation, input) =>
        createHmac('sha256', secret)
          .update(`input\n${operation}\n${canonicalJson(input)}`)
          .digest(),
    },
    audit: { id: sealing.id, mac: (text) => createHmac('sha256', auditSecret).update(text).digest() },
    seal: (text) => createHmac('sha256', secret).update(`seal\n${text}`).digest('base64url'),
  };
}

const newHashKey = () => ({ id: randomBytes(6).toString('base64url'), key: randomBytes(32).toString('base64url') });
