import type { FastifyInstance, FastifyRequest } from 'fastify';
import { FarmError } from '#contracts';
import type { Gate } from '#gate';
import type { Services } from '../../farm.js';
import type { CallLimits } from './call-limits.js';
import { eventRoutes } from './events/event-routes.js';
import type { EventStreams } from './events/event-streams.js';
import { healthRoutes } from './health-routes.js';
import { identityRoutes } from './identity-routes.js';
import { readJsonBodies } from './json-body.js';
import { listingRoutes } from './listing-routes.js';
import { authRoutes } from './login/auth-routes.js';
import { countedLogin } from './login/counted-login.js';
import { deviceRoutes } from './login/device-routes.js';
import { readFormBodies } from './login/form-body.js';
import { oauthRoutes } from './login/oauth-routes.js';
import { readCookies } from './login/session-cookie.js';
import { tokenEndpoint } from './login/token-endpoint.js';
import { objectRoutes } from './object-routes.js';
import { operationRoutes } from './operation-routes.js';
import { refusalOf, sendProblem } from './problem.js';
import { problemRoutes } from './problem-routes.js';
import { referenceRoutes } from './reference/reference-routes.js';
import { linkBodyBytes, linkRoutes } from './request-link/link-routes.js';
import { schemaRoutes } from './schema-routes.js';
import { sendSecurityHeaders } from './security-headers.js';

interface HttpDoor {
  readonly services: Services;
  readonly gate: Gate<Services>;
  readonly callLimits: CallLimits;
  readonly streams: EventStreams;
  readonly onWorkerAnswered: () => void;
}

/**
 * The HTTP door. Its routes stand in a scope of the Nest adapter's own Fastify instance: Nest's request pipeline would cost a
 * third of a claim's time and does nothing for one generic route.
 */
export function openHttpDoor(
  instance: FastifyInstance,
  { services, gate, callLimits, streams, onWorkerAnswered }: HttpDoor,
): void {
  const { identity, log, teams, address, database } = services;
  const onFault = (error: unknown) => log.error({ fault: faultOf(error) }, 'a page failed');
  const login = { identity, publicUrl: () => address.publicUrl, logIn: countedLogin(services) };
  const countSignIn = (request: FastifyRequest) => callLimits.countSignIn(request);
  readCookies(instance);

  instance.register(async (scope) => {
    answerErrors(scope, services);
    readJsonBodies(scope);
    operationRoutes(scope, { gate, identity, callLimits, onWorkerAnswered });
    scope.register(async (looks) => {
      sendSecurityHeaders(looks);
      healthRoutes(looks, services);
      listingRoutes(looks, { gate, identity, callLimits });
      eventRoutes(looks, { gate, identity, callLimits, streams });
      problemRoutes(looks);
      referenceRoutes(looks);
      schemaRoutes(looks);
    });
    scope.register(async (signIns) => {
      signIns.addHook('onRequest', countSignIn);
      sendSecurityHeaders(signIns);
      identityRoutes(signIns, { identity, onWorkerAnswered });
      authRoutes(signIns, login);
    });
  });

  instance.register(async (scope) => {
    answerErrors(scope, services);
    objectRoutes(scope, { identity, roads: teams.roads });
  });

  instance.register(async (scope) => {
    answerErrors(scope, services);
    scope.addHook('onRequest', countSignIn);
    sendSecurityHeaders(scope);
    readFormBodies(scope);
    oauthRoutes(scope, login);
  });

  instance.register(async (scope) => {
    answerErrors(scope, services);
    scope.addHook('onRequest', countSignIn);
    sendSecurityHeaders(scope);
    tokenEndpoint(scope, login);
  });

  instance.register(async (scope) => {
    scope.addHook('onRequest', countSignIn);
    readFormBodies(scope);
    deviceRoutes(scope, { ...login, onFault });
  });

  instance.register(async (scope) => {
    scope.addHook('onRequest', countSignIn);
    readFormBodies(scope, linkBodyBytes);
    linkRoutes(scope, { ...login, gate, database, teams, onFault });
  });
  log.debug('the HTTP door is hung');
}

/** Every error is a problem; what is a fault of ours is logged, never the caller's words. */
function answerErrors(scope: FastifyInstance, { log }: Services): void {
  scope.setErrorHandler((error, request, reply) => {
    const failure = refusalOf(error);
    if (failure.code === 'internal') log.error({ call: request.id, fault: faultOf(failure) }, 'a call failed');
    return sendProblem(reply, failure);
  });
}

/** Where it went wrong. A message may quote what a caller sent; a stack names places only when the message is left out. */
export function faultOf(error: unknown): { readonly type: string; readonly at: string; readonly code?: string } {
  const cause = error instanceof FarmError && error.cause !== undefined ? error.cause : error;
  if (typeof cause !== 'object' || cause === null) return { type: typeof cause, at: '' };
  const type = 'name' in cause && typeof cause.name === 'string' ? cause.name : 'Error';
  const stack = 'stack' in cause && typeof cause.stack === 'string' ? cause.stack : '';
  const at = stack
    .split('\n')
    .filter((line) => line.trimStart().startsWith('at '))
    .slice(0, 6)
    .map((line) => line.trim())
    .join(' < ');
  return { type, at, ...('code' in cause && typeof cause.code === 'string' && { code: cause.code }) };
}
