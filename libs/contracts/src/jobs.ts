import { z } from 'zod';
import { contract } from './contract.js';
import { BootId, CommandId, Epoch, JobId, Label, LeaseId, ObjectId, PoolName, WorkerId } from './ids.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { PageLimit, pageCursor } from './paging.js';
import { storable, storableJson } from './text.js';
import { AuthoredSandbox, ExtensionMode, HumanRequestKind } from './workflow-document.js';

/** What a lease's writer must show, whole, in every statement that writes (H14, A12.3). Holder and boot come from the token. */
export const Fence = { job_id: JobId, epoch: Epoch, lease_id: LeaseId } as const;

export const JobState = z.enum(['queued', 'held', 'leased', 'done', 'dead', 'cancelled']);
export type JobState = z.output<typeof JobState>;

/** Where a leased job is on its worker; each change is sent at once. */
export const JobPhase = z.enum(['preparing', 'started', 'capturing', 'uploading']);
export type JobPhase = z.output<typeof JobPhase>;

/** Agents may be given any kind but the reserved ones. */
export const JobKind = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/);

/** Kinds that only workers may claim, and one that is the controllers' own (H37, H16). */
const reservedKinds: readonly string[] = ['dispatch', 'command_run', 'snapshot', 'webhook'];

export function isReservedKind(kind: string): boolean {
  return reservedKinds.includes(kind);
}

/** Any other kind: what persons may submit and agents may take (H37). */
export const OpenJobKind = JobKind.refine((kind) => !isReservedKind(kind), { params: { rule: 'reserved_kind' } });

/** Why a lease ended, said by the worker (D3). */
export const DispatchEnded = z.enum([
  'handover',
  'silent',
  'crashed',
  'limited',
  'machine',
  'paused',
  'drained',
  'cancelled',
]);
export type DispatchEnded = z.output<typeof DispatchEnded>;
export const CommandEnded = z.enum(['exited', 'timed_out', 'cancelled', 'launch_failed']);
/** `done` is how a job of any other kind ends. */
export const Ended = z.enum([
  ...DispatchEnded.options,
  ...CommandEnded.options.filter((ended) => ended !== 'cancelled'),
  'done',
]);
export type Ended = z.output<typeof Ended>;

/** Why a job could not be started, captured or uploaded. */
export const FailReason = z.enum([
  'provider_start',
  'environment',
  /** The login or key of its account; the machine is well, and offers the account no more. */
  'account_refused',
  /** The folder that the Task works in is not there, or its machine's owner does not allow it. */
  'workspace_unavailable',
  'prepare_failed',
  'capture_failed',
  'upload_failed',
  'job_error',
]);
export type FailReason = z.output<typeof FailReason>;

export const JobResult = storableJson(limits.resultBytes);

export const LeasedJob = z.strictObject({
  id: JobId,
  kind: JobKind,
  epoch: Epoch,
  lease_id: LeaseId,
  lease_ms: z.int(),
  heartbeat_ms: z.int(),
  /** Job token: renewed by beats, worth nothing without the worker's own token (D17). */
  token: z.string(),
  /** The same session goes on: this worker and boot held the last lease, frozen since (D11). */
  continues: z.boolean(),
  payload: outsideText(z.json()),
});
export type LeasedJob = z.output<typeof LeasedJob>;

export const jobClaim = contract({
  name: 'job_claim',
  summary: 'Take up to `limit` jobs under a lease; nothing to do is an empty list.',
  input: z.strictObject({
    /** H7, A12.10. */
    request_id: z.uuid().describe('a new UUID for each claim; the same again answers the same leases'),
    limit: z.int().min(1).max(limits.claimBatch).default(1).describe('jobs to take at most'),
    /** A12.11. */
    kinds: z
      .array(JobKind)
      .min(1)
      .max(limits.agentKinds)
      .optional()
      .describe('only jobs of these kinds; absent: of any that you may take'),
    wait_seconds: z
      .number()
      .min(0)
      .max(limits.claimWaitSeconds)
      .default(0)
      .describe('seconds that the farm may wait for work before it answers'),
    /** D11. */
    frozen: z
      .array(z.strictObject({ job_id: JobId, lease_id: LeaseId }))
      .max(limits.beatLeases)
      .default([])
      .describe('own leases whose process trees are frozen and could go on; machines only'),
  }),
  output: z.strictObject({ jobs: z.array(LeasedJob) }),
  errors: ['identity_in_use'],
});

/** Who pays for an account: a plan with limits of its own, or each request. */
export const Billing = z.enum(['plan', 'metered']);
export type Billing = z.output<typeof Billing>;

/** An account as its machine offers it: a name that limits and pauses hang on farm-wide, never its login or key. */
export const AccountOffer = z.strictObject({
  name: Label.describe('name of the account, the same on all machines that offer it'),
  provider: Label.describe('provider whose turns it does'),
  usable: z.boolean().default(true).describe('whether it can be used now'),
  reason: outsideText(storable(512)).optional().describe('why it is not usable, and what mends it'),
  billing: Billing.default('plan').describe('who pays: a plan with limits of its own, or each request'),
  use: z.enum(['any', 'named']).default('any').describe('whether work that names no account may use it'),
  failover: z
    .array(Label)
    .max(8)
    .default([])
    .describe('accounts of this machine that stand in while it is paused, as its owner allows'),
});
export type AccountOffer = z.output<typeof AccountOffer>;

/** What a worker says of itself with each beat: it may only drop labels (H26). */
export const WorkerReport = z.strictObject({
  slots: z.int().min(0).max(1024).describe('leases that it can hold at once'),
  busy: z.int().min(0).max(1024).describe('leases that it holds'),
  labels: z.array(Label).max(64).describe('labels that it still has'),
  accounts: z
    .array(AccountOffer)
    .max(64)
    .default([])
    .describe("provider accounts of its own configuration, in its owner's order"),
  versions: z
    .record(storable(64), storable(128))
    .refine((versions) => Object.keys(versions).length <= 64, { params: { rule: 'max_keys:64' } })
    .default({})
    .describe('versions of its programs, by name'),
  load: z.number().min(0).optional().describe('load average of the last minute'),
  host: storable(255).optional().describe('host name of the machine'),
  refuses: storable(256)
    .optional()
    .describe('what its owner has to mend: why it takes no work, or runs without its accounts'),
  /** D16. */
  goodbye: z.boolean().optional().describe('last words of a drain: the identity is free again'),
});
export type WorkerReport = z.output<typeof WorkerReport>;

export const Progress = storableJson(limits.progressBytes);

export const LeaseBeat = z.strictObject({
  ...Fence,
  phase: JobPhase.default('started').describe('where the job is on its machine'),
  session_ref: storable(512).optional().describe("the provider's own name of the session"),
  /** A duration: no clock of the worker counts (H15). */
  idle_ms: z.int().min(0).default(0).describe('milliseconds since the last sign of life of the session'),
  progress: Progress.optional().describe('what its kind tells of a job that runs, as JSON; absent: nothing new'),
  acks: z
    .array(
      z.strictObject({
        seq: z.int32().describe('sequence number of the signal'),
        outcome: z
          .enum(['delivered', 'not_running', 'uncertain', 'queued'])
          .describe('what became of it in the session'),
      }),
    )
    .max(64)
    .default([])
    .describe('signals that were handled'),
});
export type LeaseBeat = z.output<typeof LeaseBeat>;

export const EndRequest = z.strictObject({ kind: z.enum(['cancel', 'pause']), reason: z.string() });

export const LeaseReply = z.discriminatedUnion('held', [
  z.strictObject({
    held: z.literal(true),
    job_id: JobId,
    lease_ms: z.int(),
    token: z.string(),
    /** Stop, capture, upload, complete. */
    end: EndRequest.optional(),
    interrupt: z.boolean().optional(),
    steer: z.array(z.strictObject({ seq: z.int(), text: z.string() })).optional(),
  }),
  z.strictObject({ held: z.literal(false), job_id: JobId, code: z.literal('stale_lease') }),
]);
export type LeaseReply = z.output<typeof LeaseReply>;

export const jobHeartbeat = contract({
  name: 'job_heartbeat',
  summary: 'Renew leases and learn what the farm wants of them.',
  input: z.strictObject({
    worker: WorkerReport.optional().describe('what a machine says of itself with every beat; agents leave it out'),
    leases: z.array(LeaseBeat).max(limits.beatLeases).default([]).describe('leases to renew'),
  }),
  output: z.strictObject({
    worker: z.strictObject({
      drain: z.boolean(),
      paused: z.boolean(),
      /** Newest `generation` of longshore.toml that is in force, to a worker alone: a machine sees that the farm's settings changed (P3). */
      config_version: z.int().min(0).optional(),
      /** Set while the farm gives this worker nothing (H11). */
      quarantined: z.string().optional(),
    }),
    leases: z.array(LeaseReply),
  }),
  errors: ['identity_in_use'],
});

export const jobComplete = contract({
  name: 'job_complete',
  summary: 'End a lease with its result.',
  input: z.strictObject({
    ...Fence,
    ended: Ended.default('done').describe('why the lease ends; done for a job of a kind of your own'),
    result: JobResult.describe('what came of the job: any JSON up to 1 MiB, null for nothing'),
  }),
  output: z.strictObject({
    state: z.enum(['done', 'cancelled']),
    /** The work is kept on the farm: the worker may delete its workspace. */
    kept: z.boolean(),
  }),
  errors: ['stale_lease', 'conflict', 'commit_refused', 'handover_refused'],
});

export const jobFail = contract({
  name: 'job_fail',
  summary: 'Give a lease back: never started, or not to be captured or uploaded.',
  input: z.strictObject({
    ...Fence,
    reason: FailReason.describe('what failed; job_error for a job of a kind of your own'),
    retryable: z.boolean().describe('whether another try may do better'),
    detail: storable(limits.failDetailBytes).optional().describe('what went wrong, for a person'),
  }),
  output: z.strictObject({ state: JobState }),
  errors: ['stale_lease', 'conflict'],
});

/** Why a machine could not run a job: it spends nothing of the job's (H11). */
export const EnvironmentCause = z.enum([
  'cli_missing',
  'logged_out',
  'disk_full',
  'sandbox_missing',
  'git_missing',
  'other',
]);

export const queueList = contract({
  name: 'queue_list',
  summary: 'Jobs of the farm, newest first.',
  input: z.strictObject({
    state: JobState.optional().describe('only jobs in this state'),
    task_id: storable(64).optional().describe('only jobs of this Task'),
    worker_id: WorkerId.optional().describe('only jobs that this machine holds'),
    limit: PageLimit,
    cursor: pageCursor(64),
  }),
  output: z.strictObject({
    jobs: z.array(
      z.strictObject({
        id: JobId,
        kind: z.string(),
        task_id: z.string().nullable(),
        member: z.string().nullable(),
        state: JobState,
        phase: JobPhase.nullable(),
        epoch: z.int().min(0),
        worker_id: z.string().nullable(),
        pool: z.string(),
        labels: z.array(z.string()),
        priority: z.int(),
        tries: z.int(),
        created_at: z.string(),
        settled_at: z.string().nullable(),
        /** Why it waits or how it ended, in a few words. */
        note: outsideText(z.string()).nullable(),
        leases: z.array(
          z.strictObject({ epoch: z.int(), worker_id: z.string(), boot: BootId, ended_how: z.string().nullable() }),
        ),
      }),
    ),
    next_cursor: z.string().nullable(),
  }),
});

const oneJob = z.strictObject({ job_id: JobId });
const jobAfter = z.strictObject({ job_id: JobId, state: JobState });

export const queueRequeue = contract({
  name: 'queue_requeue',
  summary: 'Take the lease of a job away and queue it again, at once.',
  input: oneJob,
  output: jobAfter,
  errors: ['not_found', 'not_resumable'],
  positional: ['job_id'],
});

export const queueCancel = contract({
  name: 'queue_cancel',
  summary: 'Cancel a job that belongs to no Task; a leased one ends at its worker.',
  input: oneJob,
  output: jobAfter,
  errors: ['not_found', 'conflict'],
  positional: ['job_id'],
});

export const queueRedrive = contract({
  name: 'queue_redrive',
  summary: 'Give a dead job, or the exhausted lane it belongs to, another life.',
  input: oneJob,
  output: jobAfter,
  errors: ['not_found', 'not_resumable'],
  positional: ['job_id'],
});

export const jobSubmit = contract({
  name: 'job_submit',
  summary: 'Queue a job of a kind of your own.',
  input: z.strictObject({
    kind: OpenJobKind.describe('kind of the job: agents take the kinds that they were made for'),
    payload: storableJson(limits.payloadBytes).default({}).describe('what the job is about: any JSON up to 4 KiB'),
    pool: PoolName.default('default').describe('pool of who may take it'),
    labels: z.array(Label).max(32).default([]).describe('labels that its taker must have, such as gpu'),
    priority: z.int().min(-100).max(100).default(0).describe('higher goes first, from -100 to 100'),
    fairness_key: storable(128).optional().describe('jobs of one key share one turn in the queue; absent: the kind'),
    limit_name: Label.optional().describe('runs under the farm-wide limit of this name, as quota_set has it'),
    deadline_seconds: z
      .int()
      .min(1)
      .max(30 * 86_400)
      .optional()
      .describe('seconds from now until it is given up, also while it waits; absent: never'),
  }),
  output: z.strictObject({ job_id: JobId }),
  positional: ['kind'],
});

/** A folder of the machine that is worked in as it is, in place of a workspace of the job's own (H27). */
const InPlace = z.strictObject({ path: z.string() });

/** What a Dispatch's worker needs to begin; the prompt itself comes by GET with the job token. */
export const DispatchPayload = z.strictObject({
  task_id: z.string(),
  member_id: z.string(),
  title: z.string(),
  provider: z.string(),
  /** Account of the worker's configuration; the built-in provider has none. */
  account: Label.optional(),
  model: z.string().optional(),
  effort: z.string().optional(),
  /** Commit that the workspace starts from. */
  base: ObjectId,
  /** Operations that the member may ever call: nothing else is shown to it (I20). */
  tools: z.array(z.string().max(64)).max(16).optional(),
  /** What of people it may ask for. */
  human_kinds: z.array(HumanRequestKind).optional(),
  /** Work of the team that is not merged, to be found as branches (D22). */
  branches: z
    .array(z.strictObject({ branch: z.string().max(160), commit: ObjectId }))
    .max(limits.unmergedBranches)
    .optional(),
  /** Members have left notes: they are laid into the Task directory. */
  notes: z.literal(true).optional(),
  /** It goes on from what this command came to: what that said is laid into the Task directory where it is not there (H29). */
  command_output: CommandId.optional(),
  task_directory: z.string(),
  /** As the workflow asks for it; a machine that cannot give it is not given the job (label `sandbox:bwrap`). */
  sandbox: AuthoredSandbox.optional(),
  /** isolated: instructions, skills and servers that the repository brings are not read. */
  extension_mode: ExtensionMode.optional(),
  /** Where the same Assignment last worked, so that its dependencies are warm (D15). */
  prefer: z.string().optional(),
  /** Dispatches of one Assignment share a workspace where they meet on one machine. */
  assignment_id: z.string().max(64).optional(),
  in_place: InPlace.optional(),
  /** Backends that the workspace must be made with, best first; none: the best that the machine has. */
  isolation: z
    .strictObject({
      required: z.array(z.string()).default([]),
      /** Where none of those is there: another one, with the reason told, and not a refusal (W11). */
      allow_fallback: z.boolean().default(false),
    })
    .default({ required: [], allow_fallback: false }),
});
export type DispatchPayload = z.output<typeof DispatchPayload>;

/** What a worker needs to bring a folder as it is, before anybody works in it: the base of its Task. */
export const SnapshotPayload = z.strictObject({
  task_id: z.string(),
  title: z.string(),
  /** An empty commit, that what is brought stands on. */
  base: ObjectId,
  task_directory: z.string(),
  in_place: InPlace,
});
export type SnapshotPayload = z.output<typeof SnapshotPayload>;

/** `commit` absent: there is nothing in the folder. */
export const SnapshotResult = z.strictObject({ commit: ObjectId.optional() });

/** What the provider is given: rendered once, the same bytes at every epoch (I6). */
export const DispatchRequest = z.strictObject({
  instructions: z.string(),
  input: z.string(),
  /** manifest.md of the Task directory, as the worker writes it. */
  manifest: z.string(),
  /** workflow-note.md, where the workflow has a note. */
  workflow_note: z.string().optional(),
});
export type DispatchRequest = z.output<typeof DispatchRequest>;

/** How the workspace was made: what was used and why others were not (task isolation is never silent). */
export const IsolationReport = z.strictObject({
  requested: z.string(),
  backend: z.string(),
  fell_back: z.boolean(),
  reasons: z.array(z.string()),
  prepare_ms: z.int(),
  capture_ms: z.int(),
  /** Of the pack that came up. */
  bytes: z.int(),
  /** Nothing had to be made anew: the workspace of the Dispatch before, or a template that stood already. */
  warm: z.boolean().optional(),
  /** What the setup command of the repository left is in it, or is not because it failed. */
  setup: z.enum(['none', 'done', 'failed']).optional(),
});
export type IsolationReport = z.output<typeof IsolationReport>;

export const Usage = z.strictObject({
  requests: z.int().min(0).default(0),
  input_tokens: z.int().min(0).default(0),
  output_tokens: z.int().min(0).default(0),
  /** Of the input, read from a cache of the provider's. */
  cache_read_tokens: z.int().min(0).optional(),
  /** At list price, whoever pays. */
  cost_usd: z.number().min(0).optional(),
  /** Requests that are not in `cost_usd`, as nobody knows their price. */
  unpriced_requests: z.int().min(0).optional(),
});
export type Usage = z.output<typeof Usage>;

/** What one run of a Dispatch has used so far: a sum, so that saying it twice counts once. */
export const SessionUsage = z.strictObject({
  ...Usage.shape,
  account: Label.optional(),
  billing: Billing.optional(),
  models: z.array(storable(limits.modelChars).min(1)).max(16).optional(),
  /** Epoch at which the run began: it goes on over a lease that is given back (D11), and counts once. */
  since_epoch: Epoch.optional(),
});
export type SessionUsage = z.output<typeof SessionUsage>;

/** What beats say of a Dispatch that runs. */
export const DispatchProgress = z.strictObject({ usage: SessionUsage });

/** The result of a Dispatch, as its worker says it. */
export const DispatchResult = z.strictObject({
  /** The call that handed over, by its receipt: reserved ids and input hash come from there (D2). */
  handover: z.strictObject({ call_id: z.uuid() }).optional(),
  /** The captured commit, already uploaded; absent where nothing changed (D7). */
  commit: ObjectId.optional(),
  /** The head of the agent's own commits, which came with the captured one: shows what the member has merged (D22). */
  own_commits: ObjectId.optional(),
  /** The member's notes as a commit on the base, already uploaded like the captured one; absent where they are as they were. */
  notes: ObjectId.optional(),
  session_ref: z.string().max(512).optional(),
  usage: SessionUsage.optional(),
  isolation: IsolationReport.optional(),
  /** Ignored content that stayed behind (H20). */
  ignored: z.strictObject({ files: z.int(), bytes: z.int() }).optional(),
  retry_after_ms: z.int().min(0).optional(),
  detail: storable(limits.failDetailBytes).optional(),
});
export type DispatchResult = z.output<typeof DispatchResult>;
