import { z } from 'zod';
import { CommandRunListed, Verification } from './command-runs.js';
import { contract } from './contract.js';
import { HumanRequestView } from './human-requests.js';
import { AuthoredId, Label, ObjectId, PoolName, Sha256, TaskId } from './ids.js';
import { IsolationReport } from './jobs.js';
import { limits } from './limits.js';
import { WorkPlan } from './member.js';
import { outsideText } from './outside-text.js';
import { PageLimit, pageCursor } from './paging.js';
import { RepositoryWanted } from './repositories.js';
import { FileReferences, prose, proseBytes, storable } from './text.js';
import { Budget, TaskUsage } from './usage.js';
import { ProviderKind } from './workflow-document.js';

/** Where the files of a Task come from. */
export const TaskSource = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('empty').describe('an empty folder') }),
  z.strictObject({
    kind: z.literal('bundle').describe('your own checkout, uploaded before as a git bundle'),
    sha256: Sha256.describe('hash of the bundle: it was put to /v1/sources/<sha256>'),
    commit: ObjectId.describe('commit that the Task starts from: HEAD with the unfinished changes on top of it'),
    head: ObjectId.describe('your own HEAD: the result is shown against it'),
    dirty: z.boolean().describe('whether there were unfinished changes'),
  }),
]);
export type TaskSource = z.output<typeof TaskSource>;

/** How the workspaces of a Task are made: what its members and commands need of them (W11). */
export const TaskIsolation = z.strictObject({
  required: z
    .array(z.enum(['overlay', 'reflink', 'clone']))
    .min(1)
    .max(3)
    .describe('ways to make a workspace, best first'),
  allow_fallback: z
    .boolean()
    .default(true)
    .describe('where none of those works: another way, with the reason told; else such a machine does not run it'),
});
export type TaskIsolation = z.output<typeof TaskIsolation>;

/** The name that a machine got with its join ticket as the label `host:<name>`. */
const HostName = z
  .string()
  .min(1)
  .max(58)
  .regex(/^[a-z0-9][a-z0-9_.-]*$/);

/** A folder of one machine, worked in as it is (H27). Whether it may be, the machine says: its owner allows roots. */
const WorkspaceFolder = z.strictObject({
  host: HostName.describe('name of the machine, as its label host:<name> has it'),
  path: storable(limits.inPlacePathBytes)
    .refine((path) => path.trim() !== '', { params: { rule: 'blank' } })
    .describe('absolute path of the folder on that machine'),
});

export const taskStart = contract({
  name: 'task_start',
  summary: 'Start a Task: give a job to a team.',
  input: z.strictObject({
    workflow_id: AuthoredId.default('solo').describe('who does it; solo is one member that does the whole job'),
    prompt: proseBytes(limits.promptBytes).describe('what is to be done, as the lead of the team is told it'),
    title: prose(255).optional().describe("short name for people; absent: the prompt's first line"),
    files: FileReferences.default([]).describe('files of the source that the lead should look at'),
    source: TaskSource.default({ kind: 'empty' }).describe(
      'files that it starts from; absent: none, or the repository',
    ),
    repository: RepositoryWanted.optional().describe(
      'in place of source: a registered repository, or a URL that needs no credential',
    ),
    workspace: WorkspaceFolder.optional().describe(
      'in place of source: work in this very folder of a machine, and in no copy of it',
    ),
    pool: PoolName.default('default').describe('pool of the machines that work on it'),
    labels: z.array(Label).max(32).default([]).describe('labels that each of its machines must have, such as gpu'),
    priority: z.int().min(-100).max(100).default(0).describe('higher goes first, from -100 to 100'),
    provider: ProviderKind.optional().describe(
      'agent of members that name none; absent: the first that a machine lets anybody use',
    ),
    account: Label.optional().describe('provider account of members that name none; account_list shows them'),
    budget: Budget.optional().describe('the most that it may use, then it pauses; absent: as the policy says'),
    isolation: TaskIsolation.optional().describe(
      'how its workspaces are made; absent: in the best way that each machine has',
    ),
    verify: z
      .union([proseBytes(limits.commandBytes), z.literal(false)])
      .optional()
      .describe("line for /bin/sh that the farm runs on the final tree; false: none; absent: the repository's"),
    verify_timeout_seconds: z
      .int()
      .min(1)
      .max(limits.commandSeconds)
      .default(limits.verifySeconds)
      .describe('seconds that the verify command may take'),
  }),
  output: z.strictObject({
    task_id: TaskId,
    status: z.enum(['preparing', 'running']),
    /** What stands in the way now and may be gone later: a provider that no machine has. */
    warnings: z.array(z.string()).optional(),
  }),
  errors: [
    'not_found',
    'conflict',
    'source_unavailable',
    'source_refused',
    'idempotency_mismatch',
    'policy_refused',
    'invalid_task_path',
  ],
  positional: ['prompt'],
});

export const TaskStatus = z.enum(['preparing', 'running', 'paused', 'completed', 'cancelled']);
export type TaskStatus = z.output<typeof TaskStatus>;

/** What a person is shown, derived. */
export const ProductStatus = z.enum([
  'preparing',
  'starting',
  'working',
  'waiting_for_you',
  'paused',
  'completed',
  'blocked',
  'cancelled',
]);
export type ProductStatus = z.output<typeof ProductStatus>;

export const PauseReason = z.enum([
  'paused_by_operator',
  'runtime_recovery_exhausted',
  'runtime_transition_failed',
  'provider_retired',
  'workspace_unavailable',
  'source_unavailable',
  'budget_exhausted',
]);
export type PauseReason = z.output<typeof PauseReason>;

export const FileChange = z.strictObject({
  path: outsideText(z.string()),
  status: z.enum(['added', 'modified', 'deleted', 'renamed', 'type_changed']),
  additions: z.int().nullable(),
  deletions: z.int().nullable(),
});
export type FileChange = z.output<typeof FileChange>;

export const TaskResult = z.strictObject({
  outcome: z.enum(['green', 'blocked']),
  /** Green is what the team says; verified is what the farm's own run of the verify command says. */
  verified: z.union([z.boolean(), z.literal('not_asked')]).default('not_asked'),
  verification: Verification.nullable().default(null),
  summary: outsideText(z.string()),
  details: outsideText(z.string()).nullable(),
  files: outsideText(FileReferences),
  /** Absent where nothing changed (D7). */
  branch: z.string().nullable(),
  commit: ObjectId.nullable(),
  base: ObjectId.nullable(),
  files_changed: z.array(FileChange),
  files_changed_total: z.int(),
  /** Work of members that conflicted or was not taken, and that nobody has merged since (D22). */
  unmerged: z.array(z.strictObject({ branch: z.string(), commit: ObjectId, member_id: z.string() })).default([]),
  /** What a person should know of the branch, in sentences. */
  notes: z.array(z.string()).optional(),
  isolation: IsolationReport.nullable(),
  usage: TaskUsage.nullable(),
  completed_at: z.string(),
});
export type TaskResult = z.output<typeof TaskResult>;

export const TaskAction = z.strictObject({
  /** A hash over the facts that make the action legal: stale facts, stale id (I16). */
  id: z.string(),
  kind: z.enum(['pause', 'resume', 'cancel']),
  label: z.string(),
});

export const Attention = z.strictObject({
  kind: z.enum([
    'human_request',
    'blocked_result',
    /** The farm's own run of the verify command did not pass. */
    'verify_failed',
    /** Members work, or worked, without what the repository's setup command makes. */
    'setup_failed',
    'workspace_unavailable',
    'lane_exhausted',
    'no_machine',
    'source_unavailable',
    'budget_exhausted',
    /** What a member asks for is more than the policy of the farm allows by now. */
    'policy_refused',
    'account_paused',
    'push_approval',
  ]),
  summary: outsideText(z.string()),
});

export const Activity = z.strictObject({
  id: z.string(),
  kind: z.string(),
  occurred_at: z.string(),
  title: outsideText(z.string()),
  summary: outsideText(z.string()).nullable(),
  member: z.strictObject({ id: z.string(), name: outsideText(z.string()) }).nullable(),
  outcome: z.enum(['completed', 'blocked', 'failed', 'cancelled']).nullable(),
  files: outsideText(FileReferences),
});
export type Activity = z.output<typeof Activity>;

export const MemberState = z.enum(['not_started', 'working', 'waiting', 'done', 'blocked']);

/** What an overview has lists of; of each it shows the first ones, and tells how many there are. */
const OverviewTotals = z.strictObject({
  team: z.int(),
  attention: z.int(),
  human_requests: z.int(),
  command_runs: z.int(),
  rescues: z.int(),
  activities: z.int(),
});

/** Fields that an overview may show a part of. */
export const OverviewPart = z.enum([
  'title',
  'prompt_excerpt',
  'team',
  'attention',
  'human_requests',
  'command_runs',
  'usage',
  'result',
  'rescues',
  'activities',
]);
export type OverviewPart = z.output<typeof OverviewPart>;

/** A Task at a glance: bounded, whatever its team writes. What is cut is had by the other selections of `task_get`. */
export const TaskView = z.strictObject({
  selection: z.literal('overview'),
  task_id: TaskId,
  title: outsideText(z.string()),
  prompt_excerpt: outsideText(z.string()),
  workflow: z.strictObject({ workflow_id: z.string(), revision_no: z.int() }),
  status: TaskStatus,
  product_status: ProductStatus,
  pause_reason: PauseReason.nullable(),
  /** The folder that it works in, and in no copy of it. */
  workspace: z
    .strictObject({ host: z.string(), path: outsideText(z.string()) })
    .nullable()
    .default(null),
  started_at: z.string(),
  updated_at: z.string(),
  ended_at: z.string().nullable(),
  team: z.array(
    z.strictObject({
      member_id: z.string(),
      parent_id: z.string().nullable(),
      name: outsideText(z.string()),
      state: MemberState,
      latest_update: outsideText(z.string()).nullable(),
      plan: WorkPlan.nullable(),
      /** What its work waits for where nobody has to act: all lanes of the Task are at work. */
      waits_for: z.literal('lanes').nullable().default(null),
      /** There while it is at work and can be told something: the action of `task_member_steer`. */
      steer_action: z.strictObject({ id: z.string() }).nullable().default(null),
    }),
  ),
  attention: z.array(Attention),
  actions: z.array(TaskAction),
  /** What members ask of people, open ones first. */
  human_requests: z.array(HumanRequestView),
  /** What was run as commands: those that go on first, then the newest. */
  command_runs: z.array(CommandRunListed).default([]),
  /** So far; null where nobody said anything. */
  usage: TaskUsage.nullable(),
  budget: Budget.nullable(),
  result: TaskResult.nullable(),
  /** Work that was kept and never merged: late, unfinished or from a lost machine (H10, D20). */
  rescues: z.array(
    z.strictObject({ ref: z.string(), commit: ObjectId, member_id: z.string(), kept_at: z.string(), why: z.string() }),
  ),
  /** Newest first. */
  activities: z.array(Activity),
  totals: OverviewTotals,
  /** Where there is more than is shown here: a longer list, or a longer text in it. */
  truncated: z.array(OverviewPart),
});
export type TaskView = z.output<typeof TaskView>;

export const taskSearch = contract({
  name: 'task_search',
  summary: 'Tasks, newest first.',
  input: z.strictObject({
    query: storable(256).optional().describe('only Tasks with this text in title, id or workflow'),
    status: ProductStatus.optional().describe('only Tasks with this product_status'),
    limit: PageLimit,
    cursor: pageCursor(256),
  }),
  output: z.strictObject({
    items: z.array(
      z.strictObject({
        task_id: TaskId,
        title: outsideText(z.string()),
        workflow_id: z.string(),
        status: TaskStatus,
        product_status: ProductStatus,
        /** Null before the end. */
        verified: z.union([z.boolean(), z.literal('not_asked')]).nullable(),
        /** How many things somebody should look at; the Task itself names them. */
        attention: z.int(),
        started_at: z.string(),
        ended_at: z.string().nullable(),
      }),
    ),
    next_cursor: z.string().nullable(),
  }),
  errors: ['cursor_reset_required'],
});

export const taskControl = contract({
  name: 'task_control',
  summary: 'Pause, resume or cancel a Task by the id of an action that it offers.',
  input: z.strictObject({
    task_id: TaskId,
    action_id: z
      .string()
      .max(64)
      .describe('id of one of the actions that task_get shows; refused when facts have changed'),
    budget: Budget.optional().describe('only to resume: takes the place of the budget there was; absent: it stays'),
  }),
  output: z.strictObject({ kind: z.enum(['pause', 'resume', 'cancel']), status: TaskStatus }),
  errors: ['not_found', 'conflict', 'budget_exhausted', 'policy_refused'],
  positional: ['task_id', 'action_id'],
});

export const TaskEvent = z.strictObject({
  seq: z.int(),
  type: z.string(),
  at: z.string(),
  /** Facts of the event; technical ids may stand here. */
  payload: outsideText(z.json()),
});
export type TaskEvent = z.output<typeof TaskEvent>;

export const taskEvents = contract({
  name: 'task_events',
  group: 'task',
  summary: 'The record of a Task, in sequence; waits for news when asked to.',
  input: z.strictObject({
    task_id: TaskId,
    after: z.int().min(0).default(0).describe('only events with a larger seq; 0: from the beginning'),
    limit: z.int().min(1).max(500).default(100).describe('events to answer at most'),
    wait_seconds: z
      .number()
      .min(0)
      .max(limits.claimWaitSeconds)
      .default(0)
      .describe('seconds that the farm may wait for news before it answers'),
  }),
  output: z.strictObject({ events: z.array(TaskEvent), status: TaskStatus }),
  errors: ['not_found'],
  positional: ['task_id'],
});
