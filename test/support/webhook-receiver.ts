import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterAll } from '@jest/globals';
import { z } from 'zod';
import { aCertificate } from './git-origin.js';
import { tempDir } from './temp-dir.js';

/** The name that every receiver under test has; its address is told by the test's own name server. */
export const receiverHost = 'hooks.example.test';

export interface Received {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  /** As it came, byte for byte. */
  readonly body: string;
  readonly message: z.output<typeof AnyMessage>;
}

const AnyMessage = z.looseObject({ type: z.string(), data: z.looseObject({}) });

export interface Receiver {
  readonly port: number;
  readonly caFile: string;
  readonly url: string;
  readonly received: Received[];
  /** What it does instead of taking a message; set by a test. The message counts as received. */
  instead: ((response: ServerResponse, message: Received) => void) | undefined;
  close(): Promise<void>;
}

const open = new Set<Receiver>();
afterAll(async () => {
  await Promise.all([...open].map((receiver) => receiver.close()));
});

/** A receiver of webhooks over real https. */
export async function aReceiver(): Promise<Receiver> {
  const { cert, key, caFile } = aCertificate(tempDir('receiver'), [receiverHost]);
  const server = createServer({ cert, key }, (request, response) => {
    void take(request, response).catch(() => response.destroy());
  });
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const header = (name: string) => z.string().parse(request.headers[name]);
    const message: Received = {
      id: header('webhook-id'),
      timestamp: header('webhook-timestamp'),
      signature: header('webhook-signature'),
      body,
      message: AnyMessage.parse(JSON.parse(body)),
    };
    receiver.received.push(message);
    if (receiver.instead) receiver.instead(response, message);
    else response.writeHead(204).end();
  };
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  const receiver: Receiver = {
    port,
    caFile,
    url: `https://${receiverHost}:${port}/longshore`,
    received: [],
    instead: undefined,
    close: () =>
      new Promise((resolve) => {
        open.delete(receiver);
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  open.add(receiver);
  return receiver;
}

/** By another implementation than the farm's: WebCrypto, from the words of the Standard Webhooks specification. */
export async function isSignedBy(secret: string, { id, timestamp, signature, body }: Received): Promise<boolean> {
  const { subtle } = globalThis.crypto;
  const raw = Uint8Array.from(atob(secret.replace(/^whsec_/, '')), (sign) => sign.charCodeAt(0));
  const key = await subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  const given = Uint8Array.from(atob(signature.replace(/^v1,/, '')), (sign) => sign.charCodeAt(0));
  return await subtle.verify('HMAC', key, given, new TextEncoder().encode(`${id}.${timestamp}.${body}`));
}
