import { RequestError } from '@agentclientprotocol/sdk';
import { limits } from '#contracts';
import type { ProviderFailure } from '../events.js';

/** Of the protocol: the agent wants somebody to log in. */
const authRequired = -32_000;

/**
 * Why an agent answers a request with an error. The protocol has a code for a missing login only; the agent's words are looked
 * at and not passed on.
 */
export function failureOfRequest(error: unknown): ProviderFailure {
  if (!(error instanceof RequestError)) return { class: 'crash', detail: 'The agent broke off.' };
  const words = `${error.message} ${JSON.stringify(error.data) ?? ''}`;
  if (error.code === authRequired || /\b40[13]\b|unauthorized|authenticat|api key|log ?in\b/i.test(words)) {
    return { class: 'auth', detail: 'The agent is not logged in with an account that its model accepts.' };
  }
  if (/\b429\b|rate.?limit|usage limit|quota/i.test(words)) {
    return {
      class: 'rate_limit',
      retry_after_ms: limits.limitedRetryMs,
      detail: 'The limit of the account is reached.',
    };
  }
  if (/\b5\d\d\b|overload|at capacity|unavailable/i.test(words)) {
    return { class: 'overload', detail: "The agent's model is overloaded." };
  }
  if (/\b400\b|invalid.?request|too long/i.test(words)) {
    return { class: 'invalid', detail: "The agent's model refuses the request." };
  }
  return { class: 'crash', detail: `The agent answers with the error ${error.code}.` };
}
