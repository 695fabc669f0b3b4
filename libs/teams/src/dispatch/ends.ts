import type { z } from 'zod';
import type { DispatchEnded } from '#contracts';
import type { CheckpointBody, ClosedReason, OpenedReason } from '../rows.js';

/** What follows the end of a Dispatch that had started. */
export interface DispatchEnd {
  readonly closed: ClosedReason;
  /** How the next Dispatch of the same Assignment opens, from the line's head; null: none. */
  readonly successor: OpenedReason | null;
  /** What is counted; at `limits.recoveries` the lane is exhausted and the Dispatch closes `control_failed` instead. */
  readonly counter: 'recoveries' | null;
}

type Ended = Exclude<z.output<typeof DispatchEnded>, 'handover'>;

/**
 * D3: the one table of ends without a handover.
 *
 * `paused` is what a worker says that was told to; while the Task is paused no successor opens, Resume does it (D8). `cancelled` of
 * a cancelled Task never comes here (D9): a worker that says it unasked has lost a session, which counts like a crash.
 */
export const dispatchEnds: Readonly<Record<Ended, DispatchEnd>> = {
  silent: { closed: 'watchdog_superseded', successor: 'watchdog_recovery', counter: 'recoveries' },
  crashed: { closed: 'watchdog_superseded', successor: 'watchdog_recovery', counter: 'recoveries' },
  cancelled: { closed: 'watchdog_superseded', successor: 'watchdog_recovery', counter: 'recoveries' },
  limited: { closed: 'limited', successor: 'operator_continue', counter: null },
  machine: { closed: 'machine', successor: 'operator_continue', counter: null },
  paused: { closed: 'paused', successor: 'operator_continue', counter: null },
  drained: { closed: 'drained', successor: 'operator_continue', counter: null },
};

/** Ends with a handover: what its outcome means for the Assignment. */
export const handoverEnds: Readonly<
  Record<NonNullable<CheckpointBody['outcome']>, DispatchEnd & { readonly assignment: 'green' | 'blocked' | 'open' }>
> = {
  green: { closed: 'boundary', successor: null, counter: null, assignment: 'green' },
  blocked: { closed: 'boundary', successor: null, counter: null, assignment: 'blocked' },
  retry: { closed: 'boundary', successor: 'semantic_retry', counter: null, assignment: 'open' },
};
