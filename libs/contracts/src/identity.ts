import { z } from 'zod';
import { BootId, SessionId, WorkerId } from './ids.js';
import { storable } from './text.js';

/**
 * How a machine or a person's CLI proves who it is. These are no operations: authentication stands before the gate.
 *
 *  GET  /v1/challenge  → Challenge          a short-lived text of the controller's: no clock of the caller counts (H15)
 *  POST /v1/enrol      ← EnrolRequest       with a join ticket, once per key (H36)
 *  POST /v1/token      ← TokenRequest       signs the challenge with the key that was enrolled
 */
export const identityPaths = {
  challenge: '/v1/challenge',
  enrol: '/v1/enrol',
  token: '/v1/token',
  jwks: '/.well-known/jwks.json',
} as const;

/** Headers of ours: the job token beside the worker's bearer (D17), the key of a repeated call (S3.3). */
export const headers = {
  jobToken: 'longshore-job',
  idempotencyKey: 'idempotency-key',
  /** OutputHead as JSON. */
  output: 'longshore-output',
} as const;

/** Raw Ed25519 public key, base64url. */
export const PublicKey = z.string().regex(/^[A-Za-z0-9_-]{43}$/);
export const Signature = z.string().regex(/^[A-Za-z0-9_-]{86}$/);

export const Challenge = z.strictObject({
  challenge: z.string(),
  farm_id: z.string(),
  /** Who joins compares its SHA-256 with the ticket's fingerprint before it shows the ticket (H36). */
  controller_key: PublicKey,
  /** Ed25519 by that key over `challenge\n<challenge>`. */
  signature: Signature,
});

export const EnrolRequest = z.strictObject({
  ticket: z.string().max(256),
  public_key: PublicKey,
  /** Ed25519 over `enrol\n<challenge>\n<ticket>`. */
  challenge: z.string().max(2048),
  signature: Signature,
  name: storable(64),
  host: storable(255),
});
export type EnrolRequest = z.output<typeof EnrolRequest>;

export const EnrolReply = z.strictObject({
  worker_id: WorkerId,
  farm_id: z.string(),
  /** SHA-256 of the controller's enrolment key, base64url: equals the ticket's (H36). */
  fingerprint: z.string(),
  pool: z.string(),
  labels: z.array(z.string()),
  slot_ceiling: z.int(),
});
export type EnrolReply = z.output<typeof EnrolReply>;

export const TokenRequest = z.strictObject({
  /** Worker or person. */
  principal: z.string().max(64),
  challenge: z.string().max(2048),
  /** Ed25519 over `token\n<challenge>\n<principal>\n<boot or empty>`. */
  signature: Signature,
  /** A worker names its boot: another boot of the same identity waits (D16). */
  boot: BootId.optional(),
  host: storable(255).optional(),
  /** A person's login, whose key signs; absent: the key of the farm's first credential. */
  session: SessionId.optional(),
});
export type TokenRequest = z.output<typeof TokenRequest>;

export const TokenReply = z.strictObject({
  token: z.string(),
  expires_in_seconds: z.int(),
  /** A worker's ear: it may hear its own bell and say nothing (H23). Absent where NATS is not for workers. */
  nats: z.strictObject({ url: z.string(), jwt: z.string(), seed: z.string() }).optional(),
});
export type TokenReply = z.output<typeof TokenReply>;

/** What `longshore` on a person's machine reads, 0600. */
export const CredentialFile = z.strictObject({
  url: z.url(),
  principal: z.string(),
  farm_id: z.string(),
  /** Ed25519 private key, PKCS#8 DER, base64url. */
  private_key: z.string(),
  /** Made by `longshore login`; absent in the credential that the farm made for its first admin. */
  session: SessionId.exactOptional(),
});
export type CredentialFile = z.output<typeof CredentialFile>;

/** RFC 9457, with the members that callers key on. */
export const Problem = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string().optional(),
  instance: z.string().optional(),
  code: z.string(),
  fields: z.array(z.strictObject({ path: z.string(), rule: z.string(), count: z.int().optional() })).optional(),
  hint: z.string().optional(),
  retry_after_ms: z.int().optional(),
});
export type Problem = z.output<typeof Problem>;
