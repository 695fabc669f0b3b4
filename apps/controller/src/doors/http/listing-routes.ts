import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Gate, type Identity, openApiOf } from '#gate';
import type { Services } from '../../farm.js';
import { version } from '../../version.js';
import type { CallLimits } from './call-limits.js';
import { personOf } from './caller.js';

export interface ListingDoor {
  readonly gate: Gate<Services>;
  readonly identity: Identity;
  readonly callLimits: CallLimits;
}

/** What a person may call, as a list and as OpenAPI: made anew for each look, since operations come and go (A10.1, A10.3). */
export function listingRoutes(scope: FastifyInstance, { gate, identity, callLimits }: ListingDoor): void {
  const offeredTo = async (request: FastifyRequest) => {
    const principal = await personOf(request, identity);
    await callLimits.countCall(request, principal);
    return await gate.offeredTo({ door: 'cli', principal });
  };

  scope.get('/v1/operations', async (request, reply) =>
    sendTagged(request, reply, { operations: (await offeredTo(request)).map(describe) }),
  );

  scope.get('/v1/openapi.json', async (request, reply) =>
    sendTagged(request, reply, openApiOf(await offeredTo(request), version)),
  );
}

/** With a strong ETag: the same bytes, or 304 for who has them (RFC 9110). Kept by nobody else: it is for this caller. */
function sendTagged(request: FastifyRequest, reply: FastifyReply, document: unknown): FastifyReply {
  const body = JSON.stringify(document);
  const tag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  reply.header('etag', tag).header('cache-control', 'private, no-cache').header('vary', 'authorization, cookie');
  if (hasTag(request.headers['if-none-match'], tag)) return reply.code(304).send();
  return reply.header('content-type', 'application/json; charset=utf-8').send(body);
}

/** Weak comparison, as If-None-Match asks for it. */
function hasTag(given: string | undefined, tag: string): boolean {
  const tags = (given ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''));
  return tags.includes(tag) || tags.includes('*');
}

type Offered = Awaited<ReturnType<Gate<Services>['offeredTo']>>[number];

function describe({ name, group, summary, access, contract, inputSchema, outputSchema }: Offered) {
  return {
    name,
    group,
    summary,
    class: access.class,
    consent: access.consent,
    positional: contract.positional,
    errors: contract.errors,
    input_schema: inputSchema,
    output_schema: outputSchema,
  };
}
