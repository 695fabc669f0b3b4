import type { ProviderFailure } from '../events.js';
import type { ClaudeResult } from './claude-lines.js';

/** Where a limit says no time at which it ends. */
const unknownResetMs = 60_000;

/**
 * What an error result comes to. `resetsAt` is the time in ms at which the account's limit ends, as far as Claude Code said one.
 * Its own words are not passed on: they name accounts and addresses.
 */
export function failureOfResult(result: ClaudeResult, resetsAt: number | undefined, now: number): ProviderFailure {
  const status = result.api_error_status ?? undefined;
  const words = [result.result, ...(result.errors ?? [])].join('\n');
  if (status === 429) {
    const retry_after_ms = resetsAt === undefined ? unknownResetMs : Math.max(0, Math.round(resetsAt - now));
    return { class: 'rate_limit', retry_after_ms, detail: 'The limit of the account is reached.' };
  }
  if (status === 401 || status === 403 || /please run \/login|not logged in|invalid api key/i.test(words))
    return authFailure;
  if (status !== undefined && status >= 500) return { class: 'overload', detail: `The model's API answers ${status}.` };
  if (status !== undefined) return { class: 'invalid', detail: `The model's API refuses the request with ${status}.` };
  if (/no conversation found/i.test(words)) return sessionGone;
  if (/prompt is too long/i.test(words)) return { class: 'invalid', detail: 'The prompt is too long for the model.' };
  if (/connection|network|unable to connect|ECONN|ENOTFOUND|timed out|certificate/i.test(words))
    return { class: 'environment', detail: "The model's API can not be reached from this machine." };
  return { class: 'crash', detail: `Claude Code ended its turn with ${nameOf(result)}.` };
}

/** Why a process ended that said nothing: its stderr is looked at, never shown. */
export function failureOfStderr(stderr: string): ProviderFailure | undefined {
  if (/no conversation found/i.test(stderr)) return sessionGone;
  if (/root\/sudo privileges/i.test(stderr))
    return { class: 'environment', detail: 'Claude Code refuses to run as root on this machine.' };
  if (/unknown option|invalid mcp config/i.test(stderr))
    return { class: 'environment', detail: 'This version of Claude Code does not know what it is asked to do.' };
  if (/please run \/login|not logged in|invalid api key/i.test(stderr)) return authFailure;
  return undefined;
}

export const authFailure: ProviderFailure = {
  class: 'auth',
  detail: 'Claude Code is not logged in with an account that the model accepts.',
};

export const doorFailure: ProviderFailure = {
  class: 'environment',
  detail: 'Claude Code did not reach the member door of this worker.',
};

const sessionGone: ProviderFailure = { class: 'invalid', detail: 'The session to go on with is not there any more.' };

function nameOf({ subtype }: ClaudeResult): string {
  return /^[a-z_]{1,40}$/.test(subtype) ? subtype : 'an error';
}
