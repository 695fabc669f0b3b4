import type { IncomingHttpHeaders } from 'node:http';
import { classifyInboundRequest, type JSONRPCRequest } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type Era, revisions } from './era.js';
import { type ErrorBody, errorBody, type MessageId, rpc } from './json-rpc.js';
import { headersAgree } from './standard-headers.js';

/** A tool's call as it was sent: neither is checked here, since a hidden tool's input is not looked at (A5.11). */
export interface ToolCall {
  readonly name: unknown;
  readonly input: unknown;
}

export type ReadMessage =
  /** `request` holds only what the protocol's own part needs to see. */
  | { readonly kind: 'request'; readonly era: Era; readonly request: JSONRPCRequest; readonly call: ToolCall }
  /** A notification or an answer: a door without sessions does nothing with it. */
  | { readonly kind: 'taken' }
  | { readonly kind: 'refused'; readonly status: number; readonly body: ErrorBody };

/** Reads the body of a POST as both eras of Streamable HTTP have it. Nothing of it is quoted in a refusal. */
export function readMessage(headers: IncomingHttpHeaders, text: string): ReadMessage {
  const body = parsed(text);
  if (body === undefined) return refused(null, rpc.parseError);
  // Batches went with the revision of June 2025.
  if (Array.isArray(body)) return refused(null, rpc.invalidRequest);
  const id = idOf(body);
  const version = headers['mcp-protocol-version'];
  const method = headers['mcp-method'];
  const read = classifyInboundRequest({
    httpMethod: 'POST',
    body,
    ...(typeof version === 'string' && { protocolVersionHeader: version }),
    ...(typeof method === 'string' && { mcpMethodHeader: method }),
  });
  if (read.kind === 'reject') return refused(id, read.code);
  if (read.kind === 'legacy') return handshakeMessage(headers, body, id);
  if (read.messageKind === 'notification') return { kind: 'taken' };
  return selfContainedMessage(headers, read.message, read.classification.revision ?? '');
}

/** JSON-RPC, as far as a door's own part reads it. */
const Request = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).default({}),
});

function handshakeMessage(headers: IncomingHttpHeaders, body: unknown, id: MessageId | null): ReadMessage {
  const read = Request.safeParse(body);
  if (!read.success) return { kind: 'taken' };
  const { method, params } = read.data;
  const version = headers['mcp-protocol-version'];
  if (method === 'initialize') {
    const hello = Hello.safeParse(params);
    return hello.success ? asked('handshake', read.data, hello.data) : refused(id, rpc.invalidParams, 200);
  }
  if (version !== undefined && !revisions.handshake.includes(String(version)))
    return refused(id, rpc.unsupportedVersion, 400, { supported: everyRevision });
  return asked('handshake', read.data, {});
}

const everyRevision = [...revisions.self_contained, ...revisions.handshake];

/** What is answered depends on the revision alone: what a client says of itself is not kept. */
const Hello = z.object({ protocolVersion: z.string() }).transform(({ protocolVersion }) => ({
  protocolVersion,
  capabilities: {},
  clientInfo: { name: 'client', version: '0' },
}));

function selfContainedMessage(headers: IncomingHttpHeaders, message: JSONRPCRequest, revision: string): ReadMessage {
  const { id, method, params = {} } = message;
  if (!revisions.self_contained.includes(revision))
    return refused(id, rpc.unsupportedVersion, 400, {
      supported: [...revisions.self_contained],
      ...(/^\d{4}-\d{2}-\d{2}$/.test(revision) && { requested: revision }),
    });
  const name = method === 'tools/call' && 'name' in params && typeof params.name === 'string' ? params.name : undefined;
  if (!headersAgree(headers, { revision, method, name })) return refused(id, rpc.headerMismatch);
  return asked('self_contained', { id, method, params }, { _meta: ownEnvelope(revision) });
}

/** The envelope was checked; of it nothing but the revision is needed. */
function ownEnvelope(revision: string): Record<string, unknown> {
  return {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'client', version: '0' },
  };
}

interface Sent {
  readonly id: MessageId;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** A caller's own words reach only the gate: the protocol's part would quote them in its errors. */
function asked(era: Era, { id, method, params }: Sent, shown: Record<string, unknown>): ReadMessage {
  const own = method === 'tools/call' ? { ...shown, name: 'tool', arguments: {} } : shown;
  return {
    kind: 'request',
    era,
    request: { jsonrpc: '2.0', id, method, params: own },
    call: { name: params.name, input: params.arguments ?? {} },
  };
}

function refused(id: MessageId | null, code: number, status = 400, data?: unknown): ReadMessage {
  return { kind: 'refused', status, body: errorBody(id, code, data) };
}

function idOf(body: unknown): MessageId | null {
  if (typeof body !== 'object' || body === null || !('id' in body)) return null;
  return typeof body.id === 'string' || typeof body.id === 'number' ? body.id : null;
}

/** JSON has no undefined: it says that the text is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
