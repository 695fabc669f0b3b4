import { jobClaim, type LeasedJob, limits, newId } from '#contracts';
import type { Farm } from '../controller/farm.js';
import { isUndecided } from '../controller/until-answered.js';
import { type Instant, instantOf, machineClock } from '../process/monotonic.js';
import type { LeaseFence } from './held-lease.js';

export interface Claimed {
  readonly jobs: readonly LeasedJob[];
  /** Of the first sending: the leases may be as old as that (H15). */
  readonly sentAt: Instant;
}

type ClaimInput = Parameters<typeof jobClaim.input.parse>[0];

interface Asked {
  readonly input: {
    readonly request_id: string;
    readonly limit: number;
    readonly wait_seconds: number;
    readonly kinds: string[];
    readonly frozen: Frozen[];
  };
  readonly sentAt: Instant;
}
type Frozen = { job_id: string; lease_id: string };

/** What a worker runs; jobs of other kinds are for agents and programs of their own. */
const ownKinds = ['dispatch', 'command_run', 'snapshot'] as const;

/**
 * One line of claims. Where no answer came, the next call repeats the same request: the farm answers the same leases and gives
 * no second ones (H7, A12.10).
 */
export class Claims {
  private open: Asked | undefined;

  constructor(private readonly farm: Farm) {}

  /** @throws FarmError `unavailable` and the like: not answered, ask again */
  async ask(limit: number, waitSeconds: number, frozen: readonly LeaseFence[], signal?: AbortSignal): Promise<Claimed> {
    this.open ??= {
      input: {
        request_id: newId(),
        limit: Math.min(limits.claimBatch, Math.max(1, limit)),
        wait_seconds: waitSeconds,
        kinds: [...ownKinds],
        frozen: frozen.map(({ job_id, lease_id }) => ({ job_id, lease_id })),
      },
      sentAt: instantOf(machineClock),
    };
    const { input, sentAt } = this.open;
    try {
      const { jobs } = await this.farm.call(jobClaim, input satisfies ClaimInput, {
        dispatcher: this.farm.connections.waits,
        timeoutMs: Math.ceil(input.wait_seconds * 1_000) + 10_000,
        ...(signal === undefined ? {} : { signal }),
      });
      this.open = undefined;
      return { jobs, sentAt };
    } catch (error) {
      if (!isUndecided(error)) this.open = undefined;
      throw error;
    }
  }
}
