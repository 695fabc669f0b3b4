import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';

/**
 * Headers for browsers, on everything but the calls of workers, which none ever makes: nothing may be loaded, framed or guessed, and no
 * other origin is let in (no CORS header is ever sent). Pages of ours that need more say so in place of this.
 */
export function sendSecurityHeaders(scope: FastifyInstance): void {
  scope.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"], baseUri: ["'none'"], formAction: ["'none'"] },
    },
    // Whether there is TLS, and for how long, is for whoever ends it to say.
    strictTransportSecurity: false,
    referrerPolicy: { policy: 'no-referrer' },
  });
}
