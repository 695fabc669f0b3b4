import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { deviceGrant, FarmError, loginPaths, type OAuthErrorCode } from '#contracts';
import type { AgentCredential } from '#gate';
import type { LoginDoor } from './auth-routes.js';
import { answerDevice } from './oauth-routes.js';

/** Codes of RFC 6749 5.2 and RFC 8707, as client credentials meet them. */
type Refusal = Extract<
  OAuthErrorCode,
  'invalid_request' | 'invalid_client' | 'unsupported_grant_type' | 'invalid_target'
>;

const bodyBytes = 8 * 1024;

const word = z.string().max(512);
/** Unknown parameters are ignored, as RFC 6749 3.2 has it; none may come twice. */
const Asked = z.object({
  grant_type: word.optional(),
  client_id: word.optional(),
  client_secret: word.optional(),
  scope: z.string().max(4096).optional(),
  resource: z.string().max(2048).optional(),
});

/**
 * Tokens: for the secret of an agent (RFC 6749 4.4) and for a login by device (RFC 8628). Before the gate, and no operation. The
 * secret comes in the body or as HTTP Basic, never in the address, where logs would have it. Refusals are those of OAuth, and say
 * nothing of who exists.
 */
export function tokenEndpoint(scope: FastifyInstance, { identity }: LoginDoor): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: bodyBytes },
    (_request, body, done) => {
      done(null, jsonOf(body.toString()));
    },
  );
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: bodyBytes },
    (_request, body, done) => done(null, formOf(body.toString())),
  );

  scope.post(loginPaths.token, async (request, reply) => {
    reply.header('cache-control', 'no-store').header('pragma', 'no-cache');
    const { authorization } = request.headers;
    const asked = Asked.safeParse(request.body);
    if (!asked.success || Object.keys(Object(request.query)).length > 0) return refuse(reply, 'invalid_request');
    const { grant_type, resource } = asked.data;
    if (grant_type === deviceGrant) return await answerDevice(reply, request.body, identity);
    if (grant_type !== 'client_credentials')
      return refuse(reply, grant_type === undefined ? 'invalid_request' : 'unsupported_grant_type');
    if (resource !== undefined && resource !== identity.agentResource) return refuse(reply, 'invalid_target');
    const credential = credentialOf(asked.data, authorization);
    if (credential === undefined) return refuse(reply, 'invalid_client', authorization !== undefined);
    try {
      return await identity.agents.exchange(credential);
    } catch (error) {
      if (!(error instanceof FarmError) || error.code !== 'unauthenticated') throw error;
      return refuse(reply, 'invalid_client', authorization !== undefined);
    }
  });
}

const descriptions: Readonly<Record<Refusal, string>> = {
  invalid_request: 'Send grant_type, client_id and client_secret in the body, each once',
  invalid_client: 'The client or its secret is not valid',
  unsupported_grant_type: 'Only client_credentials and the device code are supported',
  invalid_target: 'The resource is not the MCP door of this farm',
};

function refuse(reply: FastifyReply, error: Refusal, isBasic = false): FastifyReply {
  if (isBasic) reply.header('www-authenticate', 'Basic realm="longshore"');
  return reply.code(error === 'invalid_client' ? 401 : 400).send({ error, error_description: descriptions[error] });
}

/** By one way and not by two (RFC 6749 2.3). */
function credentialOf(
  { client_id, client_secret, scope }: z.output<typeof Asked>,
  authorization: string | undefined,
): AgentCredential | undefined {
  const basic = authorization === undefined ? undefined : basicOf(authorization);
  const narrower = scope === undefined ? {} : { scope };
  if (authorization !== undefined) {
    const isTwice = client_secret !== undefined || (client_id !== undefined && client_id !== basic?.id);
    return basic && !isTwice ? { ...basic, ...narrower } : undefined;
  }
  if (client_id === undefined || client_secret === undefined) return undefined;
  return { id: client_id, secret: client_secret, ...narrower };
}

function basicOf(header: string): { readonly id: string; readonly secret: string } | undefined {
  const encoded = /^Basic ([A-Za-z0-9+/=]{1,1024})$/i.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) return undefined;
  const [id, secret] = [decoded(text.slice(0, colon)), decoded(text.slice(colon + 1))];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** Both parts are form-encoded first (RFC 6749 2.3.1). */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Nothing when a parameter comes twice. */
function formOf(body: string): unknown {
  const given = [...new URLSearchParams(body)];
  return new Set(given.map(([name]) => name)).size === given.length ? Object.fromEntries(given) : undefined;
}
