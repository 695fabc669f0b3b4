import type { Readable } from 'node:stream';
import { type Dispatcher, request } from 'undici';
import { errorCodes, FarmError, isFarmErrorCode, Problem } from '#contracts';
import { faultOf } from '../log.js';

export interface Ask {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Whole address. */
  readonly url: string;
  readonly dispatcher: Dispatcher;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | Readable;
  /** Until the head of the answer. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export type Answer = Dispatcher.ResponseData;

/**
 * One request. Only an answer of 2xx comes back.
 *
 * @throws FarmError the controller's own code and words · `unavailable` when no answer came
 */
export async function ask(wanted: Ask): Promise<Answer> {
  const answer = await request(wanted.url, {
    dispatcher: wanted.dispatcher,
    method: wanted.method,
    headers: { ...wanted.headers },
    ...(wanted.body === undefined ? {} : { body: wanted.body }),
    ...(wanted.signal === undefined ? {} : { signal: wanted.signal }),
    headersTimeout: wanted.timeoutMs,
    bodyTimeout: 60_000,
  }).catch((error: unknown) => {
    throw unanswered(error);
  });
  if (answer.statusCode >= 200 && answer.statusCode < 300) return answer;
  throw await refusalOf(answer);
}

/** @throws FarmError `unavailable` when the answer broke off, `invalid_output` when it is no JSON */
export async function jsonOf(answer: Answer): Promise<unknown> {
  const text = await answer.body.text().catch((error: unknown) => {
    throw unanswered(error);
  });
  try {
    return JSON.parse(text);
  } catch {
    throw new FarmError('invalid_output', 'The controller answered something that is not JSON.');
  }
}

export function unanswered(error: unknown): FarmError {
  return new FarmError('unavailable', `The controller did not answer (${faultOf(error).code}).`, { cause: error });
}

async function refusalOf(answer: Answer): Promise<FarmError> {
  const text = await answer.body.text().catch(() => '');
  const problem = Problem.safeParse(parsed(text));
  if (!problem.success) {
    // a proxy in between, or a controller that is just starting
    const code = answer.statusCode >= 500 || answer.statusCode === 429 ? 'unavailable' : 'internal';
    return new FarmError(code, `The controller's address answered ${answer.statusCode} without a reason.`);
  }
  const { code, detail, hint, fields, retry_after_ms: retryAfterMs } = problem.data;
  const known = isFarmErrorCode(code) ? code : 'internal';
  return new FarmError(known, detail ?? errorCodes[known].title, {
    ...(hint === undefined ? {} : { hint }),
    ...(fields === undefined
      ? {}
      : { fields: fields.map(({ path, rule, count }) => ({ path, rule, ...(count === undefined ? {} : { count }) })) }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    kept: problem.data.kept === true,
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
