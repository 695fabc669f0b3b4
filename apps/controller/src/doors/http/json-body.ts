import type { FastifyInstance } from 'fastify';
import { FarmError } from '#contracts';

/** Bodies are JSON and nothing else. What is not is answered, and quoted nowhere (H24). */
export function readJsonBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, JSON.parse(body.toString()));
    } catch {
      done(notJson());
    }
  });
  scope.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(notJson());
  });
}

function notJson(): FarmError {
  return new FarmError('invalid_input', 'The body is not JSON', { fields: [{ path: '', rule: 'json' }] });
}
