import type { z } from 'zod';
import type {
  Budget,
  ChildMerge,
  Command,
  CommandPurpose,
  CommandRunState,
  DispatchResult,
  FileReference,
  HumanItem,
  HumanRequestKind,
  HumanResolution,
  MemberCapabilities,
  MemberProvider,
  PullRequest,
  ReplanResult,
  TaskIsolation,
  TaskSource,
  TaskStatus,
  WorkPlan,
} from '#contracts';

export type Outcome = 'green' | 'blocked';

/** What jobs and budgets of a Task are made with; fixed at its start. */
export interface TaskSettings {
  readonly pool: string;
  readonly labels: readonly string[];
  readonly priority: number;
  readonly files: readonly FileReference[];
  readonly default_provider: string;
  /** What the farm runs on the final tree; absent: nothing. */
  readonly verify?: { readonly command: string; readonly timeout_seconds: number } | undefined;
  readonly children_limit: number;
  readonly retry_limit: number;
  /** Account of members that name none. */
  readonly default_account?: string | undefined;
  /** Of its workspaces; absent: the best of each machine. */
  readonly isolation?: TaskIsolation | undefined;
  /** The one setting that may change: by Resume. */
  readonly budget?: Budget | undefined;
}

/** A Task's source that the controller fetches by itself. */
export interface RepositorySource {
  readonly kind: 'repository';
  /** Null: a URL that nobody registered, opened without a credential. */
  readonly repository: string | null;
  readonly name: string | null;
  readonly url: string;
  /** Null: the default branch. */
  readonly ref: string | null;
}

/** A folder of one machine that the Task works in as it is. */
export interface InPlaceSource {
  readonly kind: 'in_place';
  readonly host: string;
  readonly path: string;
}

export interface RepositoryRow {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly url: string;
  readonly default_branch: string | null;
  readonly settings: RepositorySettings;
  readonly credential_kind: 'none' | 'token' | 'ssh_key';
  /** Sealed. */
  readonly credential: Buffer | null;
  /** Plain lines of known_hosts for the one host. */
  readonly host_keys: string | null;
  readonly added_by: string;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** What Tasks that start from the repository are given. */
export interface RepositorySettings {
  readonly setup?: string | undefined;
  readonly verify?: string | undefined;
  readonly egress: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Of each, rows of before have none. */
  readonly fetch?: { readonly lfs?: boolean | undefined; readonly submodules?: boolean | undefined } | undefined;
}

export interface TaskRow {
  readonly id: string;
  readonly seq: number;
  readonly title: string;
  readonly workflow: string;
  readonly revision_no: number;
  readonly prompt: string;
  readonly started_by: string;
  readonly status: TaskStatus;
  readonly outcome: Outcome | null;
  readonly control_revision: number;
  readonly pause_reason: string | null;
  readonly pause_detail: string | null;
  readonly source: TaskSource | RepositorySource | InPlaceSource;
  readonly settings: TaskSettings;
  readonly base: string | null;
  readonly team_revision: string | null;
  readonly root_assignment: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly ended_at: Date | null;
}

/** A member's own fields, without those below it. */
export interface MemberConfiguration {
  readonly id: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly instruction?: string | undefined;
  readonly provider?: MemberProvider | undefined;
  readonly capabilities?: MemberCapabilities | undefined;
}

export interface TeamMemberRow {
  readonly revision: string;
  readonly member: string;
  readonly parent: string | null;
  readonly position: number;
  readonly depth: number;
  readonly config_id: string;
  readonly basis_id: string;
  readonly configuration: MemberConfiguration;
  readonly origin: 'authored' | 'task_replan';
}

export interface AssignmentRow {
  readonly id: string;
  readonly task: string;
  readonly member: string;
  readonly parent: string | null;
  readonly prompt: string;
  readonly files: readonly FileReference[];
  readonly plan: WorkPlan | null;
  readonly plan_revision: number;
  readonly children_limit: number;
  readonly children_used: number;
  readonly retry_limit: number;
  readonly retries_used: number;
  readonly attempt: number;
  readonly recoveries: number;
  readonly line_base: string;
  readonly line_head: string;
  readonly outcome: Outcome | null;
  readonly closed_at: Date | null;
}

/** What a member may ask for beyond its own turn. */
export interface Grants {
  readonly human_request: readonly z.output<typeof HumanRequestKind>[];
  readonly command_run: 'allow' | 'deny';
}

/** What a Dispatch was rendered from. */
export interface Pins {
  readonly team_revision: string;
  readonly member: string;
  readonly config_id: string;
  readonly basis_id: string;
  /** As workflow and policy gave them when the Dispatch was opened; absent of those from before there was a policy of grants. */
  readonly grants?: Grants;
  readonly provider: {
    readonly kind: string;
    /** Only where the workflow or the Task names it; else the farm chooses. */
    readonly account?: string | undefined;
    readonly model?: string | undefined;
    readonly effort?: string | undefined;
    readonly sandbox?: MemberProvider['sandbox'];
    readonly extension_mode?: MemberProvider['extension_mode'];
  };
}

export type OpenedReason =
  | 'root'
  | 'delegation'
  | 'delegation_wave'
  | 'human_result'
  | 'command_result'
  | 'watchdog_recovery'
  | 'semantic_retry'
  | 'operator_continue'
  | 'structural_replan';

export type ClosedReason =
  | 'boundary'
  | 'delegation'
  | 'human_request_wait'
  | 'command_run_wait'
  | 'watchdog_superseded'
  | 'paused'
  | 'cancelled'
  | 'control_failed'
  | 'structural_replan'
  | 'drained'
  | 'limited'
  | 'machine';

export interface DispatchRow {
  readonly id: string;
  readonly task: string;
  readonly assignment: string;
  readonly attempt: number;
  readonly caused_by: string | null;
  readonly reason: OpenedReason;
  readonly pins: Pins;
  readonly continuation: Continuation | null;
  readonly base: string;
  readonly commit: string | null;
  readonly closed_reason: ClosedReason | null;
  readonly opened_at: Date;
  readonly closed_at: Date | null;
}

export interface CheckpointBody {
  readonly id: string;
  readonly summary: string;
  readonly details?: string | undefined;
  readonly files: readonly FileReference[];
  readonly outcome?: 'green' | 'blocked' | 'retry' | undefined;
}

/** What a child of a Wave reported, and what became of its branch, as the parent is told. */
export interface ChildReport {
  readonly child_id: string;
  readonly assignment: { readonly id: string; readonly prompt: string; readonly files: readonly FileReference[] };
  readonly outcome: Outcome;
  readonly checkpoint: Omit<CheckpointBody, 'id' | 'outcome'>;
  readonly merge: ChildMerge;
}

/** The typed cause told to the next Dispatch (§5 of the team rules). */
export type Continuation =
  | {
      readonly kind: 'delegation_wave_settled';
      readonly wave: string;
      readonly source_dispatch: string;
      /** In the order of the request (I13). */
      readonly members: readonly ChildReport[];
    }
  | {
      readonly kind: 'human_result';
      readonly source_dispatch: string;
      readonly request: {
        readonly request_id: string;
        readonly kind: string;
        readonly summary: string;
        readonly items: readonly HumanItem[];
        readonly due_at: string | null;
        readonly default_behavior: string | null;
      };
      readonly resolution: HumanResolution;
    }
  | {
      readonly kind: 'command_result';
      readonly source_dispatch: string;
      readonly request: {
        readonly command_id: string;
        readonly command: Command & { readonly arguments_left_out?: number };
        readonly cwd: string | null;
        readonly timeout_seconds: number | null;
        readonly summary: string;
      };
      readonly terminal: {
        readonly state: CommandRunState;
        readonly exit_code: number | null;
        readonly failure_code: string | null;
        readonly summary: string;
        readonly started_at: string | null;
        readonly ended_at: string;
        readonly output_path: string;
        readonly observed_bytes: number;
        readonly written_bytes: number;
        readonly complete: boolean;
        readonly source: 'controller' | 'operator';
        readonly actor: string | null;
        readonly tail: string;
      };
    }
  | {
      readonly kind: 'structural_replan';
      readonly source_dispatch: string;
      readonly operation: ReplanResult['operation'];
      readonly result: ReplanResult;
    }
  | {
      readonly kind: 'watchdog_recovery';
      readonly source_dispatch: string;
      readonly recovery_count: number;
      readonly ended: string;
      readonly detail?: string | undefined;
    }
  | {
      readonly kind: 'semantic_retry';
      readonly source_dispatch: string;
      readonly previous_attempt: string;
      readonly checkpoint: Omit<CheckpointBody, 'id'>;
    }
  | {
      readonly kind: 'operator_continue';
      readonly source_dispatch: string;
      readonly control_revision: number;
      readonly pause_reason: string;
    };

export interface PushRow {
  readonly task: string;
  readonly commit: string;
  readonly repository: string;
  readonly branch: string;
  readonly state: 'waiting' | 'pending' | 'pushed' | 'moved';
  readonly approval: string | null;
  readonly approved_by: string | null;
  readonly asked_by: string;
  readonly pull_request: PullRequest | null;
  readonly settled_at: Date | null;
}

export interface CommandRunRow {
  readonly id: string;
  readonly name: string;
  readonly task: string;
  readonly assignment: string;
  readonly member: string;
  readonly source_dispatch: string;
  readonly purpose: z.output<typeof CommandPurpose>;
  readonly base: string | null;
  readonly command: Command;
  readonly cwd: string | null;
  readonly timeout_seconds: number | null;
  readonly summary: string;
  readonly state: CommandRunState;
  readonly exit_code: number | null;
  readonly failure_code: string | null;
  readonly detail: string | null;
  /** Of the lease under which it was started. */
  readonly epoch: number | null;
  readonly losses: number;
  readonly tail: string;
  readonly isolation: unknown;
  readonly observed_bytes: number;
  readonly written_bytes: number;
  readonly output_complete: boolean;
  readonly commit: string | null;
  readonly ended_by: string | null;
  readonly opened_at: Date;
  readonly started_at: Date | null;
  readonly due_at: Date | null;
  readonly ended_at: Date | null;
}

/** What the worker said of a Dispatch that handed over. */
export type KeptResult = z.output<typeof DispatchResult>;
