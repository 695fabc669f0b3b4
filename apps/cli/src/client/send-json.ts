import { type Agent, fetch } from 'undici';
import { FarmError, Problem } from '#contracts';
import { RemoteError } from '../output/failure.js';

interface SendOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** One HTTP exchange in JSON. Throws RemoteError for what the farm refuses, FarmError unavailable when none answers. */
export type SendJson = (method: 'GET' | 'POST', url: string, options?: SendOptions) => Promise<unknown>;

export function sendJson(dispatcher?: Agent): SendJson {
  return async (method, url, { body, headers, signal } = {}) => {
    const response = await fetch(url, {
      method,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      redirect: 'error',
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
      ...(dispatcher && { dispatcher }),
    }).catch((error: unknown) => {
      throw signal?.aborted === true ? error : noAnswer(url, error);
    });
    const text = await response.text().catch((error: unknown) => {
      throw signal?.aborted === true ? error : noAnswer(url, error);
    });
    if (!response.ok) throw refusal(response.status, text);
    return parse(text, url);
  };
}

/** What stands in for an answer when nothing listens. */
export function noAnswer(url: string, cause: unknown): FarmError {
  return new FarmError('unavailable', `No farm answers at ${new URL(url).origin}.`, {
    hint: 'Start it by `npm start` (or `longshore up`); `longshore doctor` tells what is wrong.',
    cause,
  });
}

export function refusal(status: number, text: string): Error {
  const problem = Problem.safeParse(parseOr(text));
  if (problem.success) return new RemoteError(problem.data);
  return new FarmError('unavailable', `The answer (HTTP ${status}) is not one of a Longshore farm.`, {
    hint: 'Look at the address in the credential file: a proxy or another program may be there.',
  });
}

function parse(text: string, url: string): unknown {
  const value = parseOr(text);
  if (value !== undefined) return value;
  throw new FarmError('unavailable', `What answers at ${new URL(url).origin} is no Longshore farm.`);
}

function parseOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
