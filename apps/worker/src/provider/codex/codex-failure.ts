import { limits } from '#contracts';
import type { ProviderFailure } from '../events.js';
import type { RateLimits, TurnError } from './app-server-messages.js';

type ErrorCode = TurnError['codexErrorInfo'];

/** What is known when a turn fails. */
interface Circumstances {
  /** The last the model's API said of the account's limits. */
  readonly rateLimits?: RateLimits | undefined;
  /** Why Codex tried again before it gave up in this turn: its last word then is only `other`. */
  readonly retried?: ErrorCode;
  /** Unix time, ms. */
  readonly now: number;
}

const overloads = ['serverOverloaded', 'internalServerError', 'flexUnavailable', 'policyCapacityUnavailable'];
const limited = ['usageLimitExceeded', 'rateLimitExceeded'];
const connections = [
  'httpConnectionFailed',
  'responseStreamConnectionFailed',
  'responseStreamDisconnected',
  'responseTooManyFailedAttempts',
];
const refusals: ReadonlyMap<string, string> = new Map([
  ['badRequest', "The model's API refuses the request."],
  ['modelNotFound', 'The account has no such model.'],
  ['contextWindowExceeded', "The work does not fit into the model's context."],
  ['sessionBudgetExceeded', 'The budget of the session is spent.'],
]);

/**
 * What a failed turn comes to. The words of the model's API are not passed on: they name accounts and addresses, and parts of
 * keys.
 */
export function failureOfTurn(error: TurnError | null | undefined, about: Circumstances): ProviderFailure {
  const { name, status } = codeOf(error?.codexErrorInfo);
  if (name !== undefined && (limited.includes(name) || status === 429)) return limitOf(name, about);
  if (name === 'unauthorized' || status === 401 || status === 403) {
    return { class: 'auth', detail: 'Codex is not logged in with an account that the model accepts.' };
  }
  if (name === 'sandboxError')
    return { class: 'environment', detail: 'Codex could not run a command on this machine.' };
  if (name !== undefined && refusals.has(name)) return { class: 'invalid', detail: refusals.get(name) ?? name };
  if (status !== undefined && status >= 400 && status < 500) {
    return { class: 'invalid', detail: `The model's API refuses the request with ${status}.` };
  }
  if (name !== undefined && (overloads.includes(name) || connections.includes(name))) {
    const how = status === undefined ? 'did not answer to its end' : `answers ${status}`;
    return { class: 'overload', detail: `The model's API ${how}.` };
  }
  if (about.retried !== undefined && about.retried !== null) {
    return failureOfTurn({ message: '', codexErrorInfo: about.retried }, { ...about, retried: undefined });
  }
  if (/"type"\s*:\s*"invalid_request_error"/.test(error?.message ?? '')) return refused;
  return { class: 'crash', detail: `Codex ended its turn with ${name ?? 'an error'}.` };
}

const refused: ProviderFailure = { class: 'invalid', detail: "The model's API refuses the request." };

function limitOf(name: string, { rateLimits, now }: Circumstances): ProviderFailure {
  const windows = [rateLimits?.primary, rateLimits?.secondary];
  const resets = windows.flatMap((window) =>
    window && window.usedPercent >= 100 && window.resetsAt ? [window.resetsAt * 1_000 - now] : [],
  );
  // the account goes on when its last full window is over
  const retry_after_ms = name === 'usageLimitExceeded' ? Math.max(...resets, 0) : 0;
  return {
    class: 'rate_limit',
    retry_after_ms: retry_after_ms > 0 ? Math.round(retry_after_ms) : limits.limitedRetryMs,
    detail: 'The limit of the account is reached.',
  };
}

/** The name of an error and the HTTP status that it carries; a name that is no plain word is left out. */
function codeOf(code: ErrorCode): { readonly name: string | undefined; readonly status: number | undefined } {
  if (typeof code !== 'object' || code === null) return { name: plain(code ?? undefined), status: undefined };
  const [name, more] = Object.entries(code)[0] ?? [];
  const status =
    typeof more === 'object' && more !== null && 'httpStatusCode' in more && typeof more.httpStatusCode === 'number'
      ? more.httpStatusCode
      : undefined;
  return { name: plain(name), status };
}

function plain(name: string | undefined): string | undefined {
  return name !== undefined && /^[A-Za-z]{1,40}$/.test(name) ? name : undefined;
}
