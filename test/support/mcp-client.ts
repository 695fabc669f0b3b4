import { Client as Client2026, StreamableHTTPClientTransport as Transport2026 } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { z } from 'zod';
import { loginPaths, OauthTokenReply } from '#contracts';
import { TokenIssuer } from '../../libs/gate/src/tokens/token-issuer.js';
import { personKind } from '../../libs/gate/src/tokens/token-kinds.js';
import { type Answer, exchange, type TestController } from './a-controller.js';
import { revision } from './mcp-messages.js';

/** A token for the assistant of a person. */
export function assistantToken({ controller }: TestController, person: string): string {
  const { keys, farmId } = controller.services;
  const tokens = new TokenIssuer(personKind, { keys: keys.signing, issuer: `longshore:${farmId}` });
  return tokens.mint({ aud: 'mcp', sub: person, client_id: 'assistant' }, 600);
}

/** Posts one message as it is. */
export function postMessage(
  url: string,
  token: string | undefined,
  body: unknown,
  headers: object = {},
): Promise<Answer> {
  return exchange(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** A client of the 1.x SDK, after its handshake. */
export async function aClient2025(url: string, token: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(url), bearer(token));
  await client.connect(transport);
  return client;
}

/** A client of the 2.x SDK that speaks the 2026 revision and nothing else. */
export async function aClient2026(url: string, token: string): Promise<Client2026> {
  const client = new Client2026({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: revision } } });
  await client.connect(new Transport2026(new URL(url), bearer(token)));
  return client;
}

const bearer = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

const ToolResult = z.looseObject({
  content: z.tuple([z.object({ type: z.literal('text'), text: z.string() })]),
  structuredContent: z.record(z.string(), z.unknown()),
  isError: z.boolean().optional(),
});

/** The result of tools/call in an answer. */
export function toolResultOf(answer: Answer): z.output<typeof ToolResult> {
  return z.object({ result: ToolResult }).parse(answer.body).result;
}

/** A token of an agent, for its secret. */
export async function agentToken({ url }: { url: string }, { agent_id, secret }: Secret): Promise<string> {
  const basic = Buffer.from(`${agent_id}:${secret}`).toString('base64');
  const response = await fetch(`${url}${loginPaths.token}`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  return OauthTokenReply.parse(await response.json()).access_token;
}

interface Secret {
  readonly agent_id: string;
  readonly secret: string;
}
