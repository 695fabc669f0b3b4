import type { IncomingMessage } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/sdk/shared/mediaType.js';
import {
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/sdk/types.js';
import { limits } from '#contracts';

type ReadMessages =
  | { readonly ok: true; readonly messages: readonly JSONRPCMessage[]; readonly isBatch: boolean }
  | { readonly ok: false; readonly status: number; readonly code: string };

/** Of one body; clients of the protocol of March 2025 may send several. */
const mostMessages = 64;

/** Reads a POST of MCP's Streamable HTTP as its specification has it; nothing of the body is quoted. */
export async function readMessages(request: IncomingMessage): Promise<ReadMessages> {
  const { accept = '', 'content-type': type, 'mcp-protocol-version': version } = request.headers;
  if (!accept.includes('application/json') || !accept.includes('text/event-stream'))
    return refused(406, 'not_acceptable');
  if (!isJsonContentType(type)) return refused(415, 'not_json');
  if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(String(version)))
    return refused(400, 'protocol_version');
  const body = await bodyOf(request);
  if (body === undefined) return refused(413, 'too_large');
  const given = parsed(body);
  const isBatch = Array.isArray(given);
  const read = (isBatch ? given : [given]).slice(0, mostMessages + 1).map((one) => JSONRPCMessageSchema.safeParse(one));
  const messages = read.flatMap(({ data }) => data ?? []);
  if (messages.length === 0 || messages.length < read.length || messages.length > mostMessages)
    return refused(400, 'no_json_rpc');
  return { ok: true, messages, isBatch };
}

function refused(status: number, code: string): ReadMessages {
  return { ok: false, status, code };
}

/** Nothing when there is more than a body may have; the rest is not read. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > limits.bodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
