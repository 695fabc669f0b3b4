import type { HeldLease } from '../claim/held-lease.js';

/** How a run left its slot: `held` when processes of it could not be ended (the slot is not used again). */
export type SlotAfter = 'free' | 'held';

/** One job on this machine, from the claim to the farm's answer. */
export interface JobRun {
  readonly lease: HeldLease;
  /** The worker stops. */
  drain(): void;
  /** Never throws: what went wrong was told to the farm or is in the log. */
  run(): Promise<SlotAfter>;
}
