import { FarmError } from '#contracts';
import type { Call, WorkerPrincipal } from '#gate';
import type { Services } from '../../farm.js';

/** For what only a machine is asked or told. */
export function workerOf(call: Call<Services>): WorkerPrincipal {
  if (call.principal.kind === 'worker') return call.principal;
  throw new FarmError('not_available');
}
