import { z } from 'zod';
import { contract } from './contract.js';
import { CommandId, ObjectId, TaskId } from './ids.js';
import { DispatchPayload, IsolationReport } from './jobs.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { prose, proseBytes, RelativePath, storable } from './text.js';

/** What is run: a program with its arguments, or a line for /bin/sh. */
export const Command = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('argv'),
    argv: z
      .array(storable(limits.commandArgument * 4).max(limits.commandArgument))
      .min(1)
      .max(limits.commandArguments)
      .refine(([program]) => program !== undefined && program !== '', { params: { rule: 'blank' } }),
  }),
  z.strictObject({ kind: z.literal('shell'), command: proseBytes(limits.commandBytes) }),
]);
export type Command = z.output<typeof Command>;

/** `failed`: ended with another code than 0, by a signal, or never launched (`failure_code` says which). */
export const CommandRunState = z.enum([
  'pending_start',
  'running',
  'cancellation_requested',
  'succeeded',
  'failed',
  'timed_out',
  'cancelled',
  'abandoned',
]);
export type CommandRunState = z.output<typeof CommandRunState>;

/** `verify`: the farm's own, on the final tree of a Task. `member`: a member asked for it. */
export const CommandPurpose = z.enum(['verify', 'member']);

/** What a Command Run's worker needs to begin; the command itself comes by GET with the job token. */
export const CommandRunPayload = z.strictObject({
  task_id: z.string(),
  command_id: CommandId,
  purpose: CommandPurpose,
  member_id: z.string(),
  title: z.string(),
  /** Whose work it runs on: what an agent wrote runs behind the walls that the agent ran behind. */
  provider: z.string(),
  sandbox: DispatchPayload.shape.sandbox,
  /** Commit that it runs on. */
  base: ObjectId,
  task_directory: z.string(),
  /** Of a member's: its warm workspace is used, and what the command changes is handed back. */
  assignment_id: DispatchPayload.shape.assignment_id,
  isolation: DispatchPayload.shape.isolation,
});
export type CommandRunPayload = z.output<typeof CommandRunPayload>;

export const CommandRunRequest = z.strictObject({
  command: Command,
  /** Relative to the workspace; absent: its root. */
  cwd: RelativePath.optional(),
  /** Wall time from the start; absent: none. */
  timeout_seconds: z.int().min(1).max(limits.commandSeconds).optional(),
});
export type CommandRunRequest = z.output<typeof CommandRunRequest>;

/** What a member asks to be run. */
export const CommandRunInput = z.strictObject({
  command: Command,
  /** A folder of the workspace; absent: its root. */
  cwd: RelativePath.optional(),
  /** Wall time from the start; absent: none. */
  timeout_seconds: z.int().min(1).max(limits.commandSeconds).optional(),
  summary: outsideText(prose(limits.commandSummary)),
});
export type CommandRunInput = z.output<typeof CommandRunInput>;

export const startCommandRun = contract({
  name: 'start_command_run',
  group: 'start_command_run',
  summary:
    'Run a command in your workspace, also for hours. You hand over and must stop; you go on with what it came to and with the files that it changed.',
  input: z.strictObject({ request: CommandRunInput }),
  output: z.strictObject({
    command_id: CommandId,
    status: z.literal('pending_start'),
    output_path: z.string(),
    must_stop: z.literal(true),
  }),
  errors: [
    'capability_rejected',
    'illegal_state',
    'invalid_task_path',
    'stale_assignment',
    'stale_dispatch',
    'stale_lease',
  ],
});

/** How much of what a command said has arrived; `complete`: all of it, to the end. */
export const OutputCount = z.strictObject({
  observed_bytes: z.int().min(0),
  written_bytes: z.int().min(0),
  complete: z.boolean(),
});

/** The result of a Command Run, as its worker says it. */
export const CommandRunResult = z.strictObject({
  /** Absent when it was not launched or a signal ended it. */
  exit_code: z.int().optional(),
  signal: z.string().max(16).optional(),
  output: OutputCount.default({ observed_bytes: 0, written_bytes: 0, complete: false }),
  /** The end of what it said, as text. */
  tail: storable(limits.commandTailBytes).default(''),
  /** What a member's command changed, already uploaded; absent where nothing changed (D7). */
  commit: ObjectId.optional(),
  isolation: IsolationReport.optional(),
  detail: storable(limits.failDetailBytes).optional(),
});
export type CommandRunResult = z.output<typeof CommandRunResult>;

/** What the farm's own run of the verify command came to. `not_run`: it was asked for, and the Task did not end green. */
export const Verification = z.strictObject({
  command: outsideText(z.string()),
  state: z.enum([...CommandRunState.options, 'not_run']),
  exit_code: z.int().nullable(),
  /** In words, where the state does not say all. */
  detail: outsideText(z.string()).nullable(),
  /** The end of its output. */
  tail: outsideText(z.string()),
  /** The whole output: `command_run_output_read` with this id. */
  command_id: z.string().nullable(),
  output: OutputCount.nullable(),
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
});
export type Verification = z.output<typeof Verification>;

export const commandRunOutputRead = contract({
  name: 'command_run_output_read',
  group: 'command_run',
  summary: 'What a command said, page by page.',
  input: z.strictObject({
    task_id: TaskId,
    command_id: CommandId,
    /** From the page before; absent: the beginning. */
    cursor: z.string().max(256).optional(),
    limit: z.int().min(1).max(limits.outputPageBytes).default(limits.outputPageBytes),
  }),
  output: z.strictObject({
    /** UTF-8; what is none is shown as U+FFFD. Terminal sequences are left in. */
    text: outsideText(z.string()),
    state: CommandRunState,
    /** Where the next page begins; the same call again waits for nothing. */
    next_cursor: z.string().nullable(),
  }),
  errors: ['not_found', 'invalid_input'],
  positional: ['task_id', 'command_id'],
});
