import { FarmError } from '#contracts';
import type { Call, WorkerPrincipal } from '#gate';
import type { Claimer, Holder } from '#jobs';
import type { Services } from '../../farm.js';

/** Jobs are for workers; agents get kinds of their own with the gate's next floor. */
export function workerOf(call: Call<Services>): WorkerPrincipal {
  if (call.principal.kind === 'worker') return call.principal;
  throw new FarmError('not_available');
}

/** Holder and boot come from the token, never from the input (H14, H24). */
export function holderOf(call: Call<Services>): Holder {
  const { id, boot } = workerOf(call);
  return { worker: id, boot };
}

/** What it may take: as enrolled, less what it dropped (H26). */
export function claimerOf({ id, boot, pool, labels, accounts, slots }: WorkerPrincipal): Claimer {
  return { worker: id, boot, pool, labels, accounts, slots };
}
