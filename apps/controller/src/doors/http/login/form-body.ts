import type { FastifyInstance } from 'fastify';
import { FarmError } from '#contracts';

const formBytes = 16 * 1024;

/** Bodies are HTML forms and nothing else: names and texts. */
export function readFormBodies(scope: FastifyInstance, bodyLimit = formBytes): void {
  scope.removeAllContentTypeParsers();
  const form = { parseAs: 'string', bodyLimit } as const;
  scope.addContentTypeParser('application/x-www-form-urlencoded', form, (_request, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(body.toString())));
  });
  scope.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(new FarmError('invalid_input', 'The body is not a form', { fields: [{ path: '', rule: 'form' }] }));
  });
}
