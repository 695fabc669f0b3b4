import type { JobState, LeasedJob, LeaseReply } from '#contracts';
import type { Database, Queries, Transaction } from '#store';
import type { Beat, Claimer, Holder, JobEnd, JobRow, LeaseFence, LockedJob, Machine, NewJob, Ring } from './job.js';
import type { JobFailure, Kind } from './kind.js';

export interface QueueOptions {
  readonly database: Database;
  /** Kinds with rules of their own; all others are plain. */
  readonly kinds: readonly Kind[];
  /** Default: `limits.leaseMs`. */
  readonly leaseMs?: number;
  /** Called after the commit that made a job claimable; what it throws is lost. */
  readonly ring?: (job: Ring) => void;
  /**
   * The last act of a transaction that submits, for the first of its jobs: a claim that waits may take it there and then, and others
   * with it. Answers the jobs that need no ring after the commit.
   */
  readonly offer?: (tx: Transaction, job: Ring) => Promise<readonly string[]>;
  /** A job token (S4.3): one for each lease of a claim and of a beat. */
  readonly mintJobToken: (lease: LeaseToken) => string;
  /** A hook that threw while many leases were beaten or swept: the others went on (H13). For the log. */
  readonly onTrouble?: (job: string, error: unknown) => void;
}

export interface ClaimRequest {
  readonly request_id: string;
  readonly limit: number;
  /** Own leases whose process trees are frozen and could go on (D11). */
  readonly frozen?: readonly { readonly job_id: string; readonly lease_id: string }[];
  /** Its frozen jobs and no others: a machine that is paused, drains or is in quarantine keeps what it has. */
  readonly nothing_new?: boolean;
}

/** Plain requests of one claimer, which share a statement. */
export interface SharedClaim {
  readonly claimer: Claimer;
  readonly requests: readonly Pick<ClaimRequest, 'request_id' | 'limit'>[];
}

/** What a job token says. */
export interface LeaseToken {
  readonly job: string;
  readonly epoch: number;
  readonly lease_id: string;
  readonly kind: string;
  readonly worker: string;
  readonly lease_ms: number;
}

/** A holder's word that its lease ends. */
export interface Completion {
  readonly holder: Holder;
  readonly fence: LeaseFence;
  readonly end: JobEnd;
}

/** What `prepareCompletion` found, for `complete` of the same call. */
export interface PreparedCompletion {
  /** The job as it stood; never trusted for the fence. Absent: there is none. */
  readonly job: JobRow | undefined;
  readonly value: unknown;
}

export interface ListFilter {
  readonly state?: JobState;
  readonly scope?: string;
  readonly worker?: string;
  readonly limit: number;
  readonly cursor?: string;
}

export interface PastLease {
  readonly epoch: number;
  readonly lease_id: string;
  readonly worker: string;
  readonly boot: string;
  readonly granted_at: Date;
  readonly beats: number;
  readonly ended_how: string | null;
}

export interface AccountState {
  readonly account: string;
  /** At most so many of its jobs at once; null: as many as there are. */
  readonly max: number | null;
  /** Its leased jobs. */
  readonly busy: number;
  /** Farm time until it goes on; null: not paused. */
  readonly paused_ms: number | null;
  readonly paused_reason: string | null;
}

/** A queued job that no live worker may take, and what is missing. */
export interface Stranded {
  readonly job: string;
  readonly kind: string;
  readonly scope: string | null;
  /** `pool gpu`, `label os:linux`, `account work`, or that every fitting worker is excluded. */
  readonly missing: readonly string[];
}

/** What a sweep did, by job id. */
export interface Swept {
  readonly requeued: readonly string[];
  readonly ended: readonly string[];
  /** What failed, by job id: the rest went on (H13). The next sweep tries again. */
  readonly failed: readonly { readonly job: string; readonly error: unknown }[];
}

/**
 * The lease queue (design §4). Functions that take `tx` are parts of the caller's transaction; where the job belongs to a scope,
 * they lock the scope first by its kind, which the caller may have done already.
 */
export interface Queue {
  /** Held jobs that belong to no scope can be claimed again; the others among these stay as they are. */
  releaseJobs(tx: Transaction, jobs: readonly string[]): Promise<void>;
  /** Leases of machines and agents: what farm time could take from somebody who can not be heard (D25). */
  leasedByMachines(queries: Queries): Promise<number>;
  /** Queues a job, or holds it. Errors: `too_large`. */
  submit(tx: Transaction, job: NewJob): Promise<void>;

  /**
   * Up to `limit` jobs under a lease each, at once: waiting for work is the door's affair. The same request again answers the
   * same leases with fresh tokens (H7, D12). Own frozen jobs come first, with `continues` (D11).
   */
  claim(tx: Transaction, claimer: Claimer, request: ClaimRequest): Promise<readonly LeasedJob[]>;
  /**
   * Several requests of each claimer in one statement that never waits, after the locks of all their machines. Answers in the
   * order asked; nothing for a request that `claim` must decide: where limits are set, it was answered before, or what it could
   * have is in other hands.
   */
  claimTogether(
    tx: Transaction,
    claims: readonly SharedClaim[],
  ): Promise<readonly (readonly (readonly LeasedJob[] | undefined)[])[]>;
  /**
   * Before `claimTogether`, for who holds other locks already: waits for nobody (H12). False while another claim of this machine is on
   * its way; true keeps others away until the commit.
   */
  mayClaimNow(tx: Transaction, claimer: Pick<Claimer, 'worker'>): Promise<boolean>;

  /**
   * Renews leases, in transactions of its own: one lease's trouble is not the others' (H13). Answers in the order asked; a lease
   * whose kind's hook threw has no answer, so that its worker beats again.
   */
  heartbeat(holder: Holder, beats: readonly Beat[]): Promise<readonly LeaseReply[]>;

  /**
   * A member call before the `started` beat counts as it (D12). Locks scope and job, checks the fence; error `stale_lease`. `read`
   * is what the caller reads under the locks: it sends its statements right behind them, and is asked again after a first start.
   */
  markStarted<Read>(
    tx: Transaction,
    holder: Holder,
    fence: LeaseFence,
    read: (job: LockedJob) => Promise<Read>,
  ): Promise<{ readonly job: JobRow; readonly read: Read }>;

  /** Reads the fence, then lets the kind do its work on disk, outside any transaction. Errors: `stale_lease`, the kind's. */
  prepareCompletion(holder: Holder, fence: LeaseFence, end: JobEnd): Promise<PreparedCompletion>;
  /** First wins; the same again answers the same. Errors: `stale_lease`, `conflict`, the kind's. */
  complete(
    tx: Transaction,
    holder: Holder,
    fence: LeaseFence,
    end: JobEnd,
    prepared: PreparedCompletion,
  ): Promise<{ state: 'done' | 'cancelled'; kept: boolean }>;
  /**
   * Ends of several leases in one statement that never waits, with the number of their beats. Nothing for one that `complete` must
   * decide: its kind has rules, it is not held, or in other hands.
   */
  completeTogether(
    tx: Transaction,
    completions: readonly Completion[],
  ): Promise<readonly ({ state: 'done' | 'cancelled'; kept: boolean; beats: number } | undefined)[]>;
  /** Gives a lease back. Errors: `stale_lease`, `conflict`. */
  fail(
    tx: Transaction,
    holder: Holder,
    fence: LeaseFence,
    failure: Pick<JobFailure, 'reason' | 'retryable' | 'detail'>,
  ): Promise<{ state: JobState }>;

  /** The lease as it stands now, without a lock; nothing when the fence does not hold. For roads (D17, H29). */
  heldLease(queries: Queries, holder: Holder, fence: LeaseFence): Promise<JobRow | undefined>;
  /** Who held a lease, now or once: late packs are kept for it (D20). */
  pastLease(queries: Queries, job: string, epoch: number): Promise<PastLease | undefined>;
  find(queries: Queries, job: string): Promise<JobRow | undefined>;

  /** Cancels all queued and held jobs of a scope, whose lock the caller holds. Answers their ids. Does not tell the kind. */
  endQueued(tx: Transaction, scope: string, note?: string): Promise<readonly string[]>;
  /**
   * Flags the leased jobs of a scope, whose lock the caller holds: all, or those of one kind. A cancel is never taken back (D9).
   * Answers their ids.
   */
  flagEnd(
    tx: Transaction,
    scope: string,
    kind: 'cancel' | 'pause',
    reason: string,
    of?: string,
  ): Promise<readonly string[]>;
  /** Takes a `pause` back from all leased jobs of a scope. */
  unflagPause(tx: Transaction, scope: string): Promise<readonly string[]>;
  /**
   * Ends one job, of a scope whose lock the caller holds or of none: at once where nobody has it, else its holder is told (D9). Does not tell
   * the kind. `over`: it had ended before.
   */
  endJob(tx: Transaction, job: string, reason: string): Promise<'ended' | 'told' | 'over'>;
  /** D15: the machine that a queued job waits for takes no work any more: anybody may have it. */
  dropPreference(tx: Transaction, job: string): Promise<void>;
  /** D10: ends the job of a Dispatch that closes, whatever its state; its holder's writes are stale from here on. */
  close(tx: Transaction, job: string, state: 'done' | 'dead' | 'cancelled', note?: string): Promise<void>;
  /** D8: queued jobs of a scope wait; answers their ids. */
  hold(tx: Transaction, scope: string): Promise<readonly string[]>;
  release(tx: Transaction, scope: string): Promise<readonly string[]>;

  /** Steer or interrupt a leased job: told by the beat's reply. Answers the sequence. Error `conflict`: terminal. */
  signal(tx: Transaction, job: string, signal: { kind: 'steer' | 'interrupt'; text: string }): Promise<number>;
  /** What a session that is gone had heard is told to the one that begins the same job anew (I6). */
  tellAgain(tx: Transaction, job: string): Promise<void>;
  signalOutcomes(
    queries: Queries,
    job: string,
  ): Promise<readonly { seq: number; kind: string; outcome: string | null }[]>;

  /** Takes all leases of a holder that is refused from now on; answers the jobs (A12.12). */
  releaseHolder(tx: Transaction, holder: string, note: string): Promise<readonly string[]>;
  /** What the three below lock first: for who looks before they act. Errors: `not_found`. */
  lock(tx: Transaction, job: string): Promise<void>;
  /** Takes a lease away and queues the job at once. Errors: `not_found`, `not_resumable`. */
  requeue(tx: Transaction, job: string): Promise<JobState>;
  /** A job without a scope. Errors: `not_found`, `conflict`. */
  cancel(tx: Transaction, job: string): Promise<JobState>;
  /** Errors: `not_found`, `not_resumable`. */
  redrive(tx: Transaction, job: string): Promise<JobState>;
  list(
    queries: Queries,
    filter: ListFilter,
  ): Promise<{ jobs: readonly (JobRow & { leases: readonly PastLease[] })[]; next_cursor: string | null }>;
  counts(queries: Queries): Promise<{ queued: number; held: number; leased: number; dead: number }>;

  /** At most `max` leased at once under a name (`global`, `worker:<id>`, `account:<x>`, `limit:<x>`, `workflow:<id>`); null lifts it. */
  setLimit(tx: Transaction, name: string, max: number | null): Promise<void>;
  /** Rate limited or overloaded: nobody gets its jobs for so long, farm-wide. */
  pauseAccount(tx: Transaction, account: string, ms: number, reason: string): Promise<void>;

  /** The account's jobs may be claimed again; false where it was not paused. */
  resumeAccount(tx: Transaction, account: string): Promise<boolean>;
  /** Accounts that are limited, paused or at work. */
  accounts(queries: Queries): Promise<readonly AccountState[]>;
  /** Names of the accounts that queued jobs ask for, some of jobs that are gone by now. */
  accountsWaitedFor(queries: Queries): Promise<readonly string[]>;
  /** Queued and held jobs under these accounts. At most `limits.pageMax`, oldest first. */
  waitingOnAccounts(queries: Queries, accounts: readonly string[]): Promise<readonly JobRow[]>;
  /** A waiting job goes under another account; false where it waits no more. The caller holds its scope's lock. */
  useAccount(
    tx: Transaction,
    job: string,
    under: { readonly account: string; readonly payload: unknown },
  ): Promise<boolean>;

  /** Queued jobs that none of these workers may take: attention item `no_machine`. At most 100, oldest first. */
  waitingWithoutMachine(queries: Queries, live: readonly Machine[]): Promise<readonly Stranded[]>;
  /** Each second, by every controller: what is lost, past its deadline or silent moves on, each in its own transaction. */
  sweep(): Promise<Swept>;
}
