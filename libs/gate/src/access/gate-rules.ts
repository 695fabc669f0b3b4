import { limits } from '#contracts';

/** Numbers of the gate that the farm's file may set (A3c.8). */
export interface GateRules {
  /** How long a proposal's token lives. */
  readonly confirmTtlSeconds: number;
  /** Live proposals of one caller. */
  readonly maxPendingConfirmations: number;
  /** Changes that a proposal lists; their true number stands beside. */
  readonly proposalChangesShown: number;
}

export const gateRules: GateRules = {
  confirmTtlSeconds: limits.confirmTtlSeconds,
  maxPendingConfirmations: limits.pendingConfirmations,
  proposalChangesShown: limits.proposalChangesShown,
};
