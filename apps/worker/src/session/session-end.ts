import { limits } from '#contracts';
import type { Handover } from '../member-door/member-calls.js';
import type { ProviderFailure } from '../provider/events.js';

/** How a session came to its end (D3). */
export type SessionEnd =
  /** The provider never took the session. */
  | { readonly ended: 'refused'; readonly failure: ProviderFailure }
  | { readonly ended: 'handover'; readonly handover: Handover }
  | { readonly ended: 'limited'; readonly retryAfterMs: number; readonly detail: string }
  /** `goesOn`: its process ended with its turn, as with a provider of one turn per process. */
  | { readonly ended: 'silent'; readonly detail: string; readonly goesOn?: true }
  | { readonly ended: 'crashed' | 'machine'; readonly detail: string }
  | { readonly ended: 'paused' | 'drained' | 'cancelled' | 'lost' };

/** Until an overloaded provider that names no time is asked again. */
const overloadPauseMs = 30_000;

/** What a failure after the start comes to: the account waits, the machine is at fault, or the session crashed. */
export function endOfFailure(failure: ProviderFailure): SessionEnd {
  switch (failure.class) {
    case 'rate_limit':
      return { ended: 'limited', retryAfterMs: failure.retry_after_ms, detail: failure.detail };
    case 'overload':
      return { ended: 'limited', retryAfterMs: overloadPauseMs, detail: failure.detail };
    case 'auth':
    case 'environment':
      return { ended: 'machine', detail: failure.detail };
    case 'invalid':
    case 'crash':
      return { ended: 'crashed', detail: failure.detail };
  }
}

/** Cuts a detail to what a reply may hold, in bytes. */
export function cutDetail(text: string): string {
  const bytes = Buffer.from(text.toWellFormed().replaceAll('\0', ''));
  if (bytes.length <= limits.failDetailBytes) return bytes.toString();
  return bytes
    .subarray(0, limits.failDetailBytes - 8)
    .toString()
    .replace(/�+$/, '…');
}
