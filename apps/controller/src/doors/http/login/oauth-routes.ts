import type { FastifyInstance, FastifyReply } from 'fastify';
import type { z } from 'zod';
import {
  type DeviceAuthorization,
  DeviceAuthorizationRequest,
  type DeviceToken,
  DeviceTokenRequest,
  FarmError,
  limits,
  loginPaths,
  type OAuthErrorCode,
} from '#contracts';
import type { LoginDoor } from './auth-routes.js';

/** How a command line gets a person to let it in: RFC 8628. Forms in, JSON out, errors as RFC 6749 has them. */
export function oauthRoutes(scope: FastifyInstance, { identity, publicUrl }: LoginDoor): void {
  const { devices } = identity.people;

  scope.post(loginPaths.deviceAuthorization, async (request, reply) => {
    const asked = DeviceAuthorizationRequest.safeParse(request.body);
    if (!asked.success) return await reply.code(400).send(problemOf(asked.error));
    const url = publicUrl();
    if (url === undefined) throw new FarmError('unavailable', 'The controller does not listen yet');
    const { client_name: client, public_key: publicKey } = asked.data;
    const { deviceCode, userCode } = await devices.begin({ client, publicKey, address: request.ip });
    const verification_uri = new URL(loginPaths.device, url).href;
    const answer: z.output<typeof DeviceAuthorization> = {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri,
      verification_uri_complete: `${verification_uri}?user_code=${userCode}`,
      expires_in: limits.deviceCodeSeconds,
      interval: limits.devicePollSeconds,
    };
    return await reply.header('cache-control', 'no-store').send(answer);
  });
}

/** The token of a login by device, or why there is none yet (RFC 8628 3.4). */
export async function answerDevice(
  reply: FastifyReply,
  body: unknown,
  identity: LoginDoor['identity'],
): Promise<FastifyReply> {
  const asked = DeviceTokenRequest.safeParse(body);
  if (!asked.success) return await reply.code(400).send(problemOf(asked.error));
  const outcome = await identity.people.devices.poll(asked.data.device_code);
  if (outcome.kind === 'refused') return await reply.code(400).send(errorOf(outcome.error));
  const { person, session } = outcome;
  const { token, expires_in_seconds } = identity.personToken(person, session);
  const answer: z.output<typeof DeviceToken> = {
    access_token: token,
    token_type: 'Bearer',
    expires_in: expires_in_seconds,
    principal: person,
    session,
    farm_id: identity.farmId,
  };
  return await reply.send(answer);
}

function problemOf({ issues }: z.ZodError) {
  return errorOf(issues.some(({ path }) => path[0] === 'client_id') ? 'invalid_client' : 'invalid_request');
}

const errorOf = (error: OAuthErrorCode) => ({ error });
