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

/** What a step says to its turn: go on, the turn is done (also of this process), the turn has failed, or the session is over. */
export type StepOutcome = 'next' | 'end' | 'left' | 'failed' | 'over';
