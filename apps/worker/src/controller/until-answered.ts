import { setTimeout as pause } from 'node:timers/promises';
import { FarmError, type FarmErrorCode } from '#contracts';

/** The farm did not decide: the same again may. */
const undecided: ReadonlySet<FarmErrorCode> = new Set<FarmErrorCode>([
  'unavailable',
  'timeout',
  'too_many_requests',
  'identity_in_use',
  'unauthenticated',
]);

/** Faults of the controller's own: tried again, but not for ever. */
const theirFault: ReadonlySet<FarmErrorCode> = new Set<FarmErrorCode>(['internal', 'invalid_output']);

export function isUndecided(error: unknown): boolean {
  return error instanceof FarmError && undecided.has(error.code);
}

interface Patience {
  readonly signal?: AbortSignal | undefined;
  readonly firstMs?: number;
  readonly mostMs?: number;
  /** How often a fault of the controller's own is borne. */
  readonly faults?: number;
  /** Decisions that may turn out otherwise later. */
  readonly again?: readonly FarmErrorCode[];
  /** Answers that are a decision to this caller. */
  readonly decided?: readonly FarmErrorCode[];
  onAgain?(error: FarmError): void;
}

/**
 * Asks the same until the farm has decided, with growing pauses and jitter (P9).
 *
 * @throws FarmError what the farm decided against · the reason of `signal`
 */
export async function untilAnswered<Value>(once: () => Promise<Value>, patience: Patience = {}): Promise<Value> {
  const { signal, firstMs = 200, mostMs = 5_000, faults = 5, again = [], decided = [] } = patience;
  let faulty = 0;
  for (let waitMs = firstMs; ; waitMs = Math.min(mostMs, waitMs * 2)) {
    try {
      return await once();
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof FarmError) || decided.includes(error.code)) throw error;
      if (theirFault.has(error.code)) {
        faulty += 1;
        if (faulty >= faults) throw error;
      } else if (!undecided.has(error.code) && !again.includes(error.code)) throw error;
      patience.onAgain?.(error);
      await pause(
        Math.max(error.retryAfterMs ?? 0, waitMs * (0.75 + Math.random() / 2)),
        undefined,
        signal ? { signal } : {},
      );
    }
  }
}
