import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { Pool } from 'undici';
import { z } from 'zod';
import { Challenge, EnrolReply, identityPaths, TokenReply } from '#contracts';

/** A worker's calls over HTTP, on kept connections: what a machine of the farm sends, without the machine. */
export interface WorkerClient {
  call(operation: string, input: unknown): Promise<unknown>;
  close(): Promise<void>;
}

const Answer = z.object({ result: z.unknown() });

/** Enrols with a join ticket, as any machine does, and calls with the token that it gets. */
export async function joinAsWorker(url: string, ticket: string, connections: number): Promise<WorkerClient> {
  const pool = new Pool(url, { connections, pipelining: 1 });
  const key = generateKeyPairSync('ed25519').privateKey;
  const public_key = z.object({ x: z.string() }).parse(key.export({ format: 'jwk' })).x;
  const send = async (path: string, body: unknown, more: Record<string, string> = {}): Promise<unknown> => {
    const { statusCode, body: answer } = await pool.request({
      method: body === undefined ? 'GET' : 'POST',
      path,
      headers: { 'content-type': 'application/json', ...more },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}: ${text}`);
    return JSON.parse(text);
  };
  const challenge = async () => Challenge.parse(await send(identityPaths.challenge, undefined)).challenge;
  const first = await challenge();
  const enrolled = EnrolReply.parse(
    await send(identityPaths.enrol, {
      ticket,
      public_key,
      challenge: first,
      signature: signed(key, `enrol\n${first}\n${ticket}`),
      name: 'bench',
      host: 'bench',
    }),
  );
  const boot = randomUUID();
  const second = await challenge();
  const principal = enrolled.worker_id;
  const signature = signed(key, `token\n${second}\n${principal}\n${boot}`);
  const { token } = TokenReply.parse(
    await send(identityPaths.token, { principal, challenge: second, signature, boot, host: 'bench' }),
  );
  const authorization = `Bearer ${token}`;
  return {
    call: async (operation, input) =>
      Answer.parse(await send(`/v1/operations/${operation}`, { input }, { authorization })).result,
    close: () => pool.close(),
  };
}

function signed(key: KeyObject, text: string): string {
  return sign(null, Buffer.from(text), key).toString('base64url');
}
