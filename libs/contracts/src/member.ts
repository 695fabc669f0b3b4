import { z } from 'zod';
import { contract } from './contract.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { FileReferences, prose, proseBytes } from './text.js';

export const PlanStep = z.strictObject({
  step: outsideText(prose(limits.planStep)).describe('one step in a few words, unlike the others'),
  status: z.enum(['pending', 'in_progress', 'completed']).describe('how it stands; at most one step is in_progress'),
});

const filler = /^(todo|tbd|n\/a|none|\.+|-+)$/i;

export const WorkPlan = z.strictObject({
  explanation: outsideText(prose(limits.planExplanation)).optional(),
  steps: z.array(PlanStep),
});
export type WorkPlan = z.output<typeof WorkPlan>;

export const setWorkPlan = contract({
  name: 'set_work_plan',
  group: 'set_work_plan',
  summary: 'Set, change or clear the plan of your Assignment. Advisory: people see it, nothing waits for it.',
  input: z.strictObject({
    explanation: prose(limits.planExplanation).optional().describe('why the plan is so, or why it changed'),
    steps: z
      .array(PlanStep)
      .max(limits.planSteps)
      .refine((steps) => steps.filter((step) => step.status === 'in_progress').length <= 1, {
        params: { rule: 'one_in_progress' },
      })
      .refine((steps) => new Set(steps.map((step) => step.step.toLowerCase())).size === steps.length, {
        params: { rule: 'distinct_steps' },
      })
      .refine((steps) => !steps.some((step) => filler.test(step.step.trim())), { params: { rule: 'no_filler' } })
      .describe('the whole plan in order, in place of the one before; an empty list clears it'),
  }),
  output: z.strictObject({ changed: z.boolean(), plan: WorkPlan.nullable() }),
  errors: ['stale_dispatch', 'stale_lease'],
});

export const CheckpointOutcome = z.enum(['green', 'blocked', 'retry']);
export type CheckpointOutcome = z.output<typeof CheckpointOutcome>;

export const CheckpointInput = z.strictObject({
  summary: prose(limits.checkpointSummary).describe('what was done or found, for people who have not seen your work'),
  details: proseBytes(limits.checkpointDetailsBytes)
    .optional()
    .describe('what the summary has no room for: evidence, decisions, what is left open'),
  files: FileReferences.default([]).describe('files of the workspace that this report is about'),
  outcome: CheckpointOutcome.optional().describe(
    'green: done and checked; blocked: can not be done; retry: begin afresh; absent: progress, go on',
  ),
});
export type CheckpointInput = z.output<typeof CheckpointInput>;

export const checkpoint = contract({
  name: 'checkpoint',
  group: 'checkpoint',
  summary:
    'Report. Without an outcome it is progress; green, blocked or retry hands over: stop after it. Work counts when it has arrived.',
  input: CheckpointInput,
  output: z.strictObject({
    checkpoint: z.strictObject({ id: z.uuid(), ...CheckpointInput.shape }),
    terminal: z.boolean(),
    must_stop: z.boolean(),
  }),
  errors: [
    'boundary_precondition_failed',
    'budget_exhausted',
    'invalid_task_path',
    'illegal_state',
    'stale_assignment',
    'stale_dispatch',
    'stale_lease',
  ],
});

const MemberView = z.strictObject({
  id: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  instruction: z.string().optional(),
  position: z.literal('task_lead').optional(),
  behavior: z.enum(['manager', 'contributor']),
  provider: z.strictObject({ kind: z.string(), model: z.string().optional(), effort: z.string().optional() }),
  effective_capabilities: z.strictObject({
    human_request: z.array(z.string()),
    command_run: z.enum(['allow', 'deny']),
  }),
});

export const getCurrentContext = contract({
  name: 'get_current_context',
  group: 'get_current_context',
  summary: 'Read where you are: Task, Dispatch, Assignment, team, plan, what you may call now.',
  input: z.strictObject({}),
  output: z.strictObject({
    task: z.strictObject({ id: z.string(), workflow_id: z.string() }),
    dispatch: z.strictObject({ id: z.string(), attempt_id: z.string(), assignment_id: z.string() }),
    current_member: MemberView,
    assignment: z.strictObject({ id: z.string(), prompt: z.string(), files: FileReferences }),
    steering: z.array(z.strictObject({ message: z.string(), occurred_at: z.string() })),
    continuation: z.json().nullable(),
    direct_team: z.array(z.json()),
    work_plan: WorkPlan.nullable(),
    available_actions: z.array(z.string()),
    workspace: z.strictObject({
      root: z.literal('.'),
      task_directory: z.string(),
      manifest: z.string(),
      workflow_note: z.string().nullable(),
      notes: z.string(),
      artifacts: z.string(),
      command_runs: z.string(),
    }),
    observed_at: z.string(),
  }),
  errors: ['stale_dispatch', 'stale_lease'],
});
