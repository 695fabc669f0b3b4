import type { FastifyInstance, FastifyReply } from 'fastify';
import { errorCodes } from '#contracts';
import { pageHeaders } from './page.js';
import { refusalOf } from './problem.js';

export function showPage(reply: FastifyReply, text: string, status = 200): FastifyReply {
  return reply.code(status).headers(pageHeaders).send(text);
}

/** Every error is a page that says why; a fault of ours is told to `onFault`. */
export function answerErrorsByPage(
  scope: FastifyInstance,
  onFault: (error: unknown) => void,
  pageOf: (why: string) => string,
): void {
  scope.setErrorHandler((error, _request, reply) => {
    const failure = refusalOf(error);
    if (failure.code === 'internal') onFault(failure);
    if (failure.retryAfterMs !== undefined) reply.header('retry-after', Math.ceil(failure.retryAfterMs / 1000));
    return showPage(reply, pageOf(failure.detail), errorCodes[failure.code].status);
  });
}
