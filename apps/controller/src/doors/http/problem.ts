import type { FastifyReply } from 'fastify';
import { errorCodes, FarmError, type FarmErrorCode, problemTypes, systemCodeOf } from '#contracts';
import { farmErrorOf } from '#gate';

/** What Fastify itself refuses, in our codes; its messages may quote the caller and are never forwarded. */
const fastifyCodes: Readonly<Record<string, FarmErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'too_large',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid_input',
  FST_ERR_CTP_INVALID_JSON_BODY: 'invalid_input',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'invalid_input',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_input',
  FST_ERR_BAD_URL: 'not_available',
  FST_ERR_MAX_PARAM_LENGTH: 'not_available',
};

/** Any error as one of ours. */
export function refusalOf(error: unknown): FarmError {
  const code = systemCodeOf(error);
  const known = code === undefined ? undefined : fastifyCodes[code];
  return known === undefined ? farmErrorOf(error) : new FarmError(known, undefined, { cause: error });
}

/** RFC 9457. Never a value of the caller's (A10.5). */
function problemOf(error: FarmError, instance: string) {
  const { code, detail, fields, hint, kept, proposal, receipt, retryAfterMs } = error;
  const { title, status } = errorCodes[code];
  return {
    type: problemTypes.of(code),
    title,
    status,
    detail,
    instance,
    code,
    ...(fields && { fields }),
    ...(hint !== undefined && { hint }),
    ...(proposal && { proposal }),
    ...(receipt && { receipt }),
    ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
    ...(kept && { kept }),
  };
}

export function sendProblem(reply: FastifyReply, error: FarmError): FastifyReply {
  const problem = problemOf(error, `urn:longshore:call:${reply.request.id}`);
  if (error.code === 'unauthenticated') reply.header('www-authenticate', 'Bearer');
  if (error.retryAfterMs !== undefined) reply.header('retry-after', Math.max(1, Math.ceil(error.retryAfterMs / 1000)));
  return reply
    .code(problem.status)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .send(JSON.stringify(problem));
}
