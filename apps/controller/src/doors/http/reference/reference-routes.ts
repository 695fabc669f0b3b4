import type { FastifyInstance, FastifyReply } from 'fastify';
import { referencePage, referencePaths, referencePolicy, referenceStart } from './reference-page.js';
import { referenceScript } from './reference-script.js';

/**
 * The reference of the operations, for browsers. The page holds nothing of the farm: what it shows it asks for as the person who looks
 * (A10.4).
 */
export function referenceRoutes(scope: FastifyInstance): void {
  const send = (reply: FastifyReply, type: string, text: string) =>
    reply
      .header('content-security-policy', referencePolicy)
      .header('cache-control', 'no-cache')
      .header('content-type', `${type}; charset=utf-8`)
      .send(text);

  scope.get(referencePaths.page, (_request, reply) => send(reply, 'text/html', referencePage));
  scope.get(referencePaths.start, (_request, reply) => send(reply, 'text/javascript', referenceStart));
  scope.get(referencePaths.script, async (_request, reply) => send(reply, 'text/javascript', await referenceScript()));
}
