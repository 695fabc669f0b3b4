import type { z } from 'zod';
import { type CommandEnded, type CommandRunResult, FarmError, jobComplete } from '#contracts';
import type { HeldLease } from '../claim/held-lease.js';
import { untilAnswered } from '../controller/until-answered.js';
import type { RunNeeds } from './run-needs.js';

export interface CommandEnd {
  readonly ended: z.output<typeof CommandEnded>;
  readonly result: z.input<typeof CommandRunResult>;
}

const completeTimeoutMs = 30_000;
/** Beats and calls that contradict each other so often are a fault of the farm. */
const refusalsMost = 10;

/** Ends the lease with what the command came to, until the farm has answered; `lost`: it is not ours to end any more. */
export async function completeCommand(
  { farm }: RunNeeds,
  lease: HeldLease,
  { ended, result }: CommandEnd,
): Promise<'done' | 'cancelled' | 'lost'> {
  for (let refusals = 0; refusals < refusalsMost; refusals += 1) {
    if ((await lease.sure()) === 'lost') return 'lost';
    const { fence } = lease;
    lease.settling = true;
    try {
      const { state } = await untilAnswered(() =>
        farm.call(jobComplete, { ...fence, ended, result }, { jobToken: lease.token, timeoutMs: completeTimeoutMs }),
      );
      lease.close();
      return state;
    } catch (error) {
      if (!(error instanceof FarmError) || error.code !== 'stale_lease') throw error;
    } finally {
      lease.settling = false;
    }
    lease.question(fence);
  }
  throw new FarmError('stale_lease', 'The farm renews the lease and refuses its end.');
}
