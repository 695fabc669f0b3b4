import type { Ended, JobPhase, JobState, LeaseBeat } from '#contracts';

/** A row of `job`, as every statement returns it. Times are farm time, except `created_at` and `settled_at` (wall). */
export interface JobRow {
  readonly id: string;
  /** Age: where it stands in the queue and in lists. */
  readonly seq: number;
  readonly kind: string;
  /** What is locked before the job: a Task's id, for kinds that have one (H12). Never changes. */
  readonly scope: string | null;
  readonly pool: string;
  readonly labels: readonly string[];
  readonly class: string;
  readonly priority: number;
  readonly fairness_key: string;
  readonly limits: readonly string[];
  readonly account: string | null;
  readonly state: JobState;
  /** Queued, and not to be claimed before a lane of its scope is free (`Kind.lanes`). */
  readonly awaits_lane: boolean;
  readonly phase: JobPhase | null;
  /** Number of the last lease, 0 before the first. */
  readonly epoch: number;
  readonly lease_id: string | null;
  readonly holder: string | null;
  readonly boot: string | null;
  readonly lease_expires_at: Date | null;
  readonly activity_at: Date | null;
  readonly available_at: Date;
  readonly started_at: Date | null;
  readonly start_attempts: number;
  readonly tries: number;
  readonly excluded: readonly string[];
  readonly prefer: string | null;
  readonly deadline: Date | null;
  readonly end_kind: 'cancel' | 'pause' | null;
  readonly end_reason: string | null;
  readonly payload: unknown;
  readonly session_ref: string | null;
  readonly result: unknown;
  readonly note: string | null;
  readonly created_at: Date;
  readonly settled_at: Date | null;
}

/** What never changes of a job. */
export type LockedJob = Pick<JobRow, 'id' | 'kind' | 'scope'>;

/** Who writes under leases: the worker and the boot that its token names (H14, H24). */
export interface Holder {
  readonly worker: string;
  readonly boot: string;
}

/** What a machine may take: enrolled labels minus the dropped ones (H26). */
export interface Machine {
  readonly worker: string;
  readonly pool: string;
  readonly labels: readonly string[];
  /** Names of the provider accounts that its machine has. */
  readonly accounts: readonly string[];
  /** Only these kinds; absent: all (A12.11, H37). */
  readonly kinds?: readonly string[];
}

/** Who asks for work. */
export interface Claimer extends Holder, Machine {
  /** Leases that it may hold at once (H26). */
  readonly slots: number;
}

/** What the caller shows of its lease; `Holder` comes from its token (D17). */
export interface LeaseFence {
  readonly job_id: string;
  readonly epoch: number;
  readonly lease_id: string;
}

export interface NewJob {
  /** A Dispatch's id is its job's. */
  readonly id: string;
  readonly kind: string;
  readonly scope?: string;
  readonly payload?: unknown;
  /** Default: `default`. */
  readonly pool?: string;
  readonly labels?: readonly string[];
  readonly priority?: number;
  /** Jobs of one key share one turn; default: the scope, else the kind. */
  readonly fairness_key?: string;
  /** Share of the key, 1 by default; fixed when the key is first seen. */
  readonly weight?: number;
  /** Names of limits that count it while it is leased: `workflow:<id>`, `limit:<name>`. `account:<x>` is added by itself. */
  readonly limits?: readonly string[];
  readonly account?: string;
  /** Nobody else gets it for `ms` (D15). */
  readonly prefer?: { readonly worker: string; readonly ms: number };
  readonly delay_ms?: number;
  /** Absolute end in farm time from now, that no beat can pass (H37). */
  readonly deadline_ms?: number;
  /** Queued, or `held` until its scope is released (D8). */
  readonly held?: boolean;
}

/** How a lease ends with a result. */
export interface JobEnd {
  readonly ended: Ended;
  readonly result: unknown;
}

/** What a ring tells: enough to choose whom to wake, never content (H25, D14). */
export interface Ring {
  readonly id: string;
  readonly kind: string;
  readonly pool: string;
  readonly labels: readonly string[];
  readonly account: string | null;
  readonly prefer: string | null;
  /** Claimable only after so many milliseconds. */
  readonly after_ms: number;
}

export type Beat = LeaseBeat;

/** What became of a signal at the session. */
export type SignalOutcome = LeaseBeat['acks'][number]['outcome'];
