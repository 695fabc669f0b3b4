import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';

/** 32 random bytes, in the form that libraries of Standard Webhooks take. */
export function newSigningSecret(): string {
  return `${prefix}${randomBytes(32).toString('base64')}`;
}

/** The headers of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, timestamp in seconds. */
export function signedHeaders(secret: string, id: string, body: string, at: Date): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const key = Buffer.from(secret.slice(prefix.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

/** What must not be shown of it, in each form that a receiver may know it in. */
export function secretsOfSigning(secret: string): readonly string[] {
  return [secret, secret.slice(prefix.length)];
}
