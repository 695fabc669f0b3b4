import { z } from 'zod';
import { limits } from '#contracts';
import { type Mistake, readCheckedYaml } from '../../checked-yaml.js';

/**
 * A script for the scripted provider: what a model would do, without one. A list of steps for the first turn, others for the
 * turns after it. Each step is one action, with an optional `when`.
 */
const When = z.strictObject({
  /** The number of the lease, from 1: "the first epoch hangs, the second finishes". */
  epoch: z.union([z.int().min(1), z.array(z.int().min(1)).min(1)]).optional(),
  /** The how-manieth reminder is being answered; 0 in the first turn. */
  reminder: z.int().min(0).optional(),
  /** The kind of the Dispatch's continuation; `none` for the first Dispatch of an Assignment. */
  continuation: z.string().min(1).optional(),
  /** The id of the member, or one of several. */
  member: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).optional(),
  /** What must stand in the Assignment's prompt (where that is not the script) or in the continuation, as they are rendered. */
  told: z.string().min(1).optional(),
});
export type When = z.output<typeof When>;

const command = z.union([z.string().min(1), z.array(z.string()).min(1)]);
const path = z.string().min(1);
/** `- hang`, `- hang:` and `- hang: true` are the same. */
const bare = z.literal(true);

const actions = {
  say: z.string().min(1),
  write: z.strictObject({ path, content: z.string() }),
  /** `find` stands in the file one time, no more. */
  edit: z.strictObject({ path, find: z.string().min(1), replace: z.string() }),
  /** A string runs in the shell. A command that fails only ends the turn with `must_pass`. */
  run: z.union([
    command,
    z.strictObject({
      command,
      cwd: path.optional(),
      must_pass: z.boolean().default(false),
      seconds: z.number().positive().optional(),
    }),
  ]),
  /** A member operation through the member door. After an answer that says `must_stop`, or a refusal, the turn ends, unless `go_on`. */
  call: z.strictObject({
    operation: z.string().min(1),
    input: z.record(z.string(), z.json()).default({}),
    go_on: z.boolean().default(false),
  }),
  wait: z.union([
    z.strictObject({ seconds: z.number().min(0) }),
    /** Until the file is there. */
    z.strictObject({ file: path }),
    /** Until the provider's process gets this signal. */
    z.strictObject({ signal: z.enum(['SIGUSR2', 'SIGHUP']) }),
  ]),
  usage: z.strictObject({
    requests: z.int().min(0).default(1),
    input_tokens: z.int().min(0).default(0),
    output_tokens: z.int().min(0).default(0),
    cache_read_tokens: z.int().min(0).optional(),
    model: z.string().min(1).max(limits.modelChars).optional(),
    cost_usd: z.number().min(0).optional(),
  }),
  /** An error of the provider's service. `refuse_start`: it comes before the session does. */
  fail: z.strictObject({
    class: z.enum(['auth', 'rate_limit', 'overload', 'invalid', 'crash', 'environment']),
    detail: z.string().min(1).default('The script said so.'),
    retry_after_ms: z.int().min(0).default(1_000),
    refuse_start: z.boolean().default(false),
  }),
  /** For ever. `deaf`: hears neither TERM nor the worker. */
  hang: z.union([bare, z.strictObject({ deaf: z.boolean() })]),
  /** kill -9 of itself. */
  crash: bare,
  flood: z.strictObject({
    bytes: z.int().min(1),
    /** noise: lines that mean nothing. line: one line without an end. messages: events. stderr: the other stream. */
    as: z.enum(['noise', 'line', 'messages', 'stderr']).default('noise'),
  }),
  /** A detached orphan that holds the output open; with `writes` it appends there once it got TERM or this process is gone. */
  grandchild: z.union([
    bare,
    z.strictObject({
      ignore_term: z.boolean().default(true),
      writes: path.optional(),
      bare_environment: z.boolean().default(false),
    }),
  ]),
  /** The end of the turn. */
  end: bare,
  /** The end of the turn and then of the process, as of a provider that does one turn in each. */
  exit: bare,
} as const;

const actionNames = Object.keys(actions);

const Step = z.preprocess(
  spellOut,
  z
    .strictObject({
      when: When.optional(),
      say: actions.say.optional(),
      write: actions.write.optional(),
      edit: actions.edit.optional(),
      run: actions.run.optional(),
      call: actions.call.optional(),
      wait: actions.wait.optional(),
      usage: actions.usage.optional(),
      fail: actions.fail.optional(),
      hang: actions.hang.optional(),
      crash: actions.crash.optional(),
      flood: actions.flood.optional(),
      grandchild: actions.grandchild.optional(),
      end: actions.end.optional(),
      exit: actions.exit.optional(),
    })
    .superRefine((step, context) => {
      const named = Object.keys(step).filter((key) => key !== 'when');
      if (named.length !== 1)
        context.addIssue({ code: 'custom', message: `A step is exactly one of: ${actionNames.join(', ')}` });
    }),
);
export type Step = z.output<typeof Step>;

const Script = z
  .strictObject({
    /** The first turn where no round fits. */
    steps: z.array(Step).min(1).optional(),
    /** What a member does each time that it is at work: the first one that fits is the first turn. */
    rounds: z
      .array(z.strictObject({ when: When, steps: z.array(Step).min(1) }))
      .min(1)
      .optional(),
    /** Answers to "your turn ended without a handover". */
    on_reminder: z.array(Step).default([]),
    /** Turns that the worker begins in the same session for another reason. */
    on_continuation: z.array(Step).default([]),
  })
  .refine(({ steps, rounds }) => steps !== undefined || rounds !== undefined, {
    message: 'A script has steps, or rounds, or both',
  });
export type Script = z.output<typeof Script>;

/** The line counts from 1 in the script itself. */
export type ScriptMistake = Mistake;

export type ParsedScript =
  | { readonly ok: true; readonly script: Script }
  | { readonly ok: false; readonly mistakes: readonly ScriptMistake[] };

/** Reads a script; names all its mistakes at once. */
export function parseScript(source: string): ParsedScript {
  const read = readCheckedYaml(source, Script);
  return read.ok ? { ok: true, script: read.value } : read;
}

function spellOut(raw: unknown): unknown {
  if (typeof raw === 'string') return { [raw]: true };
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return raw;
  return Object.fromEntries(Object.entries(raw).map(([key, value]) => [key, value === null ? true : value]));
}
