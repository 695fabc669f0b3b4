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
    kind: z.literal('argv').describe('a program without a shell'),
    argv: z
      .array(storable(limits.commandArgument * 4).max(limits.commandArgument))
      .min(1)
      .max(limits.commandArguments)
      .refine(([program]) => program !== undefined && program !== '', { params: { rule: 'blank' } })
      .describe('the program, then its arguments'),
  }),
  z.strictObject({
    kind: z.literal('shell').describe('a line for /bin/sh'),
    command: proseBytes(limits.commandBytes).describe('the line'),
  }),
]);
export type Command = z.output<typeof Command>;

/** The same, as it is told: its words are a member's. */
const ShownCommand = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('argv'), argv: z.array(outsideText(z.string())) }),
  z.strictObject({ kind: z.literal('shell'), command: outsideText(z.string()) }),
]);

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
  in_place: DispatchPayload.shape.in_place,
  isolation: DispatchPayload.shape.isolation,
});
export type CommandRunPayload = z.output<typeof CommandRunPayload>;

export const CommandRunRequest = z.strictObject({
  command: Command.describe('what is run'),
  cwd: RelativePath.optional().describe('folder of the workspace that it runs in; absent: the root'),
  timeout_seconds: z
    .int()
    .min(1)
    .max(limits.commandSeconds)
    .optional()
    .describe('seconds of wall time from its start, then it is ended; absent: no limit'),
});
export type CommandRunRequest = z.output<typeof CommandRunRequest>;

/** What a member asks to be run. */
export const CommandRunInput = z.strictObject({
  ...CommandRunRequest.shape,
  summary: outsideText(prose(limits.commandSummary)).describe('what it is for, in a line that people see'),
});
export type CommandRunInput = z.output<typeof CommandRunInput>;

export const startCommandRun = contract({
  name: 'start_command_run',
  group: 'start_command_run',
  summary:
    'Run a command in your workspace, also for hours. You hand over and must stop; you go on with what it came to and with the files that it changed.',
  input: z.strictObject({ request: CommandRunInput.describe('what is run, where and for how long') }),
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

/** A place in what a command said, for the roads that send its bytes: lease, segment, byte of the segment. */
export const OutputFrom = z
  .string()
  .regex(/^\d{1,12}\.\d{1,8}\.\d{1,10}$/)
  .transform((text) => text.split('.').map(Number))
  .transform(([epoch = 0, segment = 0, offset = 0]) => ({ epoch, segment, offset }));
export type OutputFrom = z.output<typeof OutputFrom>;

/** What stands in the head of an answer with bytes of a command's output. */
export const OutputHead = z.strictObject({
  /** Where the next answer begins; null: the command has not begun. */
  next: z.string().nullable(),
  /** This answer is cut: there is more now. */
  is_bounded: z.boolean(),
  state: CommandRunState,
  /** False while it goes on: what is counted below is known once it has ended, and of an abandoned one never. */
  ended: z.boolean(),
  ...OutputCount.shape,
});
export type OutputHead = z.output<typeof OutputHead>;

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

/** What people are shown of a Command Run; `failed` also where it was abandoned (`failure_code` says so). */
const CommandRunStatus = z.enum(['queued', 'running', 'cancelling', 'succeeded', 'failed', 'timed_out', 'cancelled']);

export const CommandRunView = z.strictObject({
  command_id: CommandId,
  purpose: CommandPurpose,
  member: z.strictObject({ id: z.string(), name: outsideText(z.string()) }),
  summary: outsideText(z.string()),
  command: ShownCommand,
  cwd: outsideText(z.string()).nullable(),
  timeout_seconds: z.int().nullable(),
  status: CommandRunStatus,
  /** How it stands, in a sentence. */
  status_message: outsideText(z.string()),
  exit_code: z.int().nullable(),
  failure_code: z.string().nullable(),
  /** Null before its start; what it said is read by `command_run_output_read`. */
  output: OutputCount.nullable(),
  /** The end of what it said, once it has ended. */
  tail: outsideText(z.string()),
  opened_at: z.string(),
  started_at: z.string().nullable(),
  due_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  actions: z.array(z.strictObject({ id: z.string(), kind: z.literal('cancel') })),
});
export type CommandRunView = z.output<typeof CommandRunView>;

/** The same in a list: without what may be long. */
export const CommandRunListed = CommandRunView.omit({ command: true, cwd: true, tail: true });
export type CommandRunListed = z.output<typeof CommandRunListed>;

export const commandRunGet = contract({
  name: 'command_run_get',
  group: 'command_run',
  summary: 'A command that a member or the farm has run: how it stands, and what may be done to it.',
  input: z.strictObject({ task_id: TaskId, command_id: CommandId }),
  output: CommandRunView,
  errors: ['not_found'],
  positional: ['task_id', 'command_id'],
});

export const commandRunCancel = contract({
  name: 'command_run_cancel',
  group: 'command_run',
  summary: 'End a command; who had it run goes on with that result.',
  input: z.strictObject({
    task_id: TaskId,
    command_id: CommandId,
    /** Other facts, no cancel (I16). */
    action_id: storable(64).describe('id of the action of the run, as command_run_get showed it'),
  }),
  output: z.strictObject({
    command_id: CommandId,
    /** `cancelling`: its machine ends it. */
    status: z.enum(['cancelled', 'cancelling']),
    /** True: the Task is paused, and its member goes on after Resume (I14). */
    continuation_pending: z.boolean(),
  }),
  errors: ['not_found', 'conflict'],
  positional: ['task_id', 'command_id'],
});

export const commandRunOutputRead = contract({
  name: 'command_run_output_read',
  group: 'command_run',
  summary: 'What a command said, page by page; also while it runs.',
  input: z.strictObject({
    task_id: TaskId,
    command_id: CommandId,
    cursor: z
      .string()
      .max(256)
      .optional()
      .describe('next_cursor of the page before; absent: the beginning of the output'),
    limit: z
      .int()
      .min(1)
      .max(limits.outputPageBytes)
      .default(limits.outputPageBytes)
      .describe('bytes of the page, as it is shown; a page holds one character at least'),
  }),
  output: z.strictObject({
    command_id: CommandId,
    /** UTF-8 without control characters and terminal sequences; what is none is shown as U+FFFD. */
    text: outsideText(z.string()),
    state: CommandRunState,
    /** Where the next page begins; null: the command has ended, and all that there is was shown. The same call again waits for nothing. */
    next_cursor: z.string().nullable(),
    /** The page is cut by its limit: there is more now. */
    is_bounded: z.boolean(),
    /** The command has ended, and all that it said has arrived. */
    output_complete: z.boolean(),
    /** On the last page: nothing is there of what had arrived. */
    is_missing: z.boolean(),
    /** On the last page: there is more or less than had arrived. */
    is_changed: z.boolean(),
  }),
  errors: ['not_found', 'cursor_reset_required'],
  positional: ['task_id', 'command_id'],
});
