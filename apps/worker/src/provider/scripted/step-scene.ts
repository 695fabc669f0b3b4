import type { ProviderEvent } from '../events.js';
import type { MemberClient } from './member-client.js';

/** What the steps of one turn work with. */
export interface StepScene {
  readonly door: MemberClient;
  /** Aborted when the turn is interrupted. */
  readonly interrupted: AbortSignal;
  /** Resolves when the reader has room again. */
  emit(event: ProviderEvent): Promise<void>;
}

/** What a step says to its turn. `ended` by a failure ends the process where the session cannot go on. */
export type StepOutcome = 'next' | 'end' | 'failed' | 'over';
