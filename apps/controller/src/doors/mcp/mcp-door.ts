import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FarmError } from '#contracts';
import type { Audience, Gate } from '#gate';
import type { Services } from '../../farm.js';
import type { CallLimits } from '../http/call-limits.js';
import { bearerOf, type Caller } from '../http/caller.js';
import { goneSignal } from '../http/gone.js';
import { refusalOf } from '../http/problem.js';
import type { Asked } from './call-tool.js';
import type { DoorTransport } from './door-transport.js';
import type { Era } from './era.js';
import { errorBody, rpc } from './json-rpc.js';
import { isForUs } from './own-address.js';
import { readMessage } from './read-message.js';
import {
  challengeOf,
  type McpPath,
  metadataPath,
  resourceMetadata,
  serverMetadata,
  serverMetadataPath,
} from './resource-metadata.js';
import { openToolServer } from './tool-server.js';

interface McpDoor {
  readonly services: Services;
  readonly gate: Gate<Services>;
  readonly callLimits: CallLimits;
  /** An agent was answered: our front door lives (D25). */
  readonly onAgentAnswered: () => void;
}

interface Endpoint {
  readonly path: McpPath;
  /** Whose tokens it takes, and no others (S1.12). */
  readonly takes: readonly Audience[];
  /** An endpoint that is switched off is not there. */
  readonly isOn: boolean;
}

type Servers = Readonly<Record<Era, DoorTransport<Asked>>>;

/**
 * MCP over Streamable HTTP: stateless, plain JSON answers, both eras. `/mcp` is for the assistants of persons and off unless the
 * farm's owner turns it on; `/mcp/agent` is for agents with tokens of their own.
 */
export function openMcpDoor(instance: FastifyInstance, { services, gate, callLimits, onAgentAnswered }: McpDoor): void {
  const { mcpEnabled, mcpMaxResultBytes } = services.settings.api;
  const endpoints: readonly Endpoint[] = [
    { path: '/mcp', takes: ['mcp'], isOn: mcpEnabled },
    { path: '/mcp/agent', takes: ['agent'], isOn: true },
  ];
  instance.register(async (scope) => {
    const door = { gate, registry: services.registry, mostBytes: mcpMaxResultBytes };
    const servers = {
      self_contained: await openToolServer('self_contained', door),
      handshake: await openToolServer('handshake', door),
    };
    readBodiesAsText(scope);
    scope.get(serverMetadataPath, (_request, reply) => {
      const { publicUrl } = services.address;
      if (publicUrl === undefined) return reply.code(404).send();
      return reply.header('cache-control', 'no-store').send(serverMetadata(publicUrl));
    });
    for (const endpoint of endpoints) {
      answerMetadata(scope, endpoint, services);
      if (endpoint.isOn) answerMessages(scope, endpoint, { services, servers, callLimits, onAgentAnswered });
      else scope.all(endpoint.path, (_request, reply) => reply.code(404).send());
    }
  });
}

function readBodiesAsText(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body));
}

/** RFC 9728: what a client looks for when it was refused. */
function answerMetadata(scope: FastifyInstance, { path, isOn }: Endpoint, { address }: Services): void {
  scope.get(metadataPath(path), (_request, reply) => {
    const { publicUrl } = address;
    if (!isOn || publicUrl === undefined) return reply.code(404).send();
    return reply.header('cache-control', 'no-store').send(resourceMetadata(publicUrl, path));
  });
}

interface Answering extends Pick<McpDoor, 'services' | 'callLimits' | 'onAgentAnswered'> {
  readonly servers: Servers;
}

function answerMessages(
  scope: FastifyInstance,
  { path, takes }: Endpoint,
  { services, servers, callLimits, onAgentAnswered }: Answering,
): void {
  const { identity, address, settings } = services;
  const callers = new WeakMap<FastifyRequest, Caller>();

  /** Who it is for, then who it is from, before anything of the body is read. */
  const letIn = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (!isForUs(request.headers, { publicUrl: address.publicUrl, host: settings.host })) return refuse(reply, 403);
    if (!acceptsJson(request.headers.accept)) return refuse(reply, 406);
    const { authorization } = request.headers;
    try {
      const bearer = bearerOf(authorization);
      if (bearer === undefined) throw new FarmError('unauthenticated');
      const caller = await identity.authenticate(bearer, takes);
      await callLimits.countCall(request, caller.principal);
      callers.set(request, caller);
      return undefined;
    } catch (error) {
      if (!(error instanceof FarmError) || error.code !== 'unauthenticated') throw error;
      reply.header('www-authenticate', challengeOf(address.publicUrl ?? '', path, authorization !== undefined));
      return refuse(reply, 401);
    }
  };

  scope.post(path, { onRequest: letIn, errorHandler: refuseByError }, async (request, reply) => {
    const caller = callers.get(request);
    if (!caller) return refuse(reply, 401);
    const message = readMessage(request.headers, typeof request.body === 'string' ? request.body : '');
    if (message.kind === 'taken') return reply.code(202).send();
    if (message.kind === 'refused') return send(reply, message.status, message.body);
    const { era, request: asked, call } = message;
    const answer = await servers[era].ask(asked, { caller, call, signal: goneSignal(reply) });
    if (caller.principal.kind === 'agent') onAgentAnswered();
    const isUnknownMethod = 'error' in answer && answer.error.code === rpc.methodNotFound;
    return send(reply, era === 'self_contained' && isUnknownMethod ? 404 : 200, answer);
  });

  // No stream to listen on, no session to end.
  scope.route({
    method: ['GET', 'DELETE', 'PUT', 'PATCH'],
    url: path,
    exposeHeadRoute: false,
    handler: (_request, reply) => refuse(reply.header('allow', 'POST'), 405),
  });
}

/** Absent means that anything will do. */
function acceptsJson(accept: string | undefined): boolean {
  return accept === undefined || /application\/(json|\*)|\*\/\*/i.test(accept);
}

/** Refused before the message was read: it has no id yet. */
function refuse(reply: FastifyReply, status: number): FastifyReply {
  return send(reply, status, errorBody(null, rpc.invalidRequest));
}

const statuses: Readonly<Record<string, number>> = {
  too_large: 413,
  invalid_input: 415,
  too_many_requests: 429,
  unavailable: 503,
};

/** What is refused of a body, or of too many; a fault of ours has no other words. */
function refuseByError(error: unknown, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { code, retryAfterMs } = refusalOf(error);
  if (retryAfterMs !== undefined) reply.header('retry-after', Math.ceil(retryAfterMs / 1000));
  const status = statuses[code] ?? 500;
  return status < 500 ? refuse(reply, status) : send(reply, status, errorBody(null, rpc.internalError));
}

function send(reply: FastifyReply, status: number, body: unknown): FastifyReply {
  return reply.code(status).header('content-type', 'application/json').send(JSON.stringify(body));
}
