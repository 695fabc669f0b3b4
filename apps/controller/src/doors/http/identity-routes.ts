import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { EnrolRequest, FarmError, identityPaths, limits, TokenRequest } from '#contracts';
import { type Identity, invalidInput } from '#gate';

export interface IdentityDoor {
  readonly identity: Identity;
  readonly onWorkerAnswered: () => void;
}

/** How machines and people prove who they are: before the gate, and no operations. */
export function identityRoutes(scope: FastifyInstance, { identity, onWorkerAnswered }: IdentityDoor): void {
  scope.get(identityPaths.challenge, async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    return identity.challenge();
  });

  scope.get(identityPaths.jwks, async (_request, reply) => {
    reply.header('cache-control', `public, max-age=${limits.jwksCacheSeconds}`);
    return identity.jwks();
  });

  scope.post(identityPaths.enrol, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    return await identity.enrol(read(EnrolRequest, request.body));
  });

  scope.post(identityPaths.token, async (request, reply) => {
    const asked = read(TokenRequest, request.body);
    reply.header('cache-control', 'no-store');
    try {
      const reply = await identity.token(asked);
      if (asked.boot !== undefined) onWorkerAnswered();
      return reply;
    } catch (error) {
      // A worker that waits for its own old process is a worker that was answered: else its time would never come (D16, D25).
      if (error instanceof FarmError && error.code === 'identity_in_use') onWorkerAnswered();
      throw error;
    }
  });
}

function read<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw invalidInput(schema, parsed.error.issues);
}
