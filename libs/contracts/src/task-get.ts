import { z } from 'zod';
import { contract } from './contract.js';
import { HumanRequestView } from './human-requests.js';
import { AuthoredId, TaskId } from './ids.js';
import { WorkPlan } from './member.js';
import { outsideText } from './outside-text.js';
import { Activity, MemberState, TaskResult, TaskView } from './tasks.js';
import { FileReferences, storable } from './text.js';
import { MemberCapabilities, MemberProvider } from './workflow-document.js';

const RequestId = z.uuid().describe('id of one of the human_requests of an overview');

/** What of a Task is wanted (O11). */
const Selection = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('overview').describe('the whole Task in short') }),
  z.strictObject({
    kind: z.literal('member').describe('one member, whole'),
    member_id: AuthoredId.describe('id of a member of the team as it is now'),
  }),
  z.strictObject({ kind: z.literal('result').describe('the Result, whole') }),
  z.strictObject({
    kind: z.literal('activity').describe('one activity, whole'),
    activity_id: storable(64).describe('id of one of the activities of an overview'),
  }),
  z.strictObject({
    kind: z.literal('human_request').describe('what a member asks people, whole'),
    request_id: RequestId,
  }),
  z.strictObject({ kind: z.literal('human_request_files').describe('the files that it names'), request_id: RequestId }),
]);

/** One member, whole: who it is, what it was given, what it said last. */
export const TaskMember = z.strictObject({
  selection: z.literal('member'),
  task_id: TaskId,
  member_id: z.string(),
  parent_id: z.string().nullable(),
  name: outsideText(z.string()),
  description: outsideText(z.string()).nullable(),
  instruction: outsideText(z.string()).nullable(),
  behavior: z.enum(['manager', 'contributor']),
  /** As its workflow says; null: that of the Task. */
  provider: MemberProvider.nullable(),
  capabilities: MemberCapabilities.nullable(),
  /** Directly below it, in order. */
  children: z.array(z.strictObject({ member_id: z.string(), name: outsideText(z.string()), state: MemberState })),
  state: MemberState,
  /** `lanes`: as many members of the Task are at work as may be at once. */
  waits_for: z.literal('lanes').nullable(),
  /** What it was asked last; null before anybody asked it. */
  mission: z.strictObject({ prompt: outsideText(z.string()), files: outsideText(FileReferences) }).nullable(),
  plan: WorkPlan.nullable(),
  latest_update: z
    .strictObject({
      summary: outsideText(z.string()),
      details: outsideText(z.string()).nullable(),
      files: outsideText(FileReferences),
      /** Null: progress. */
      outcome: z.enum(['green', 'blocked', 'retry']).nullable(),
      recorded_at: z.string(),
    })
    .nullable(),
  steer_action: z.strictObject({ id: z.string() }).nullable(),
});
export type TaskMember = z.output<typeof TaskMember>;

export const taskGet = contract({
  name: 'task_get',
  summary: 'A Task: status, team, what needs you, the Result; or one part of it, whole.',
  input: z.strictObject({
    task_id: TaskId,
    selection: Selection.optional().describe('what of the Task; absent: the overview, which cuts what is long'),
  }),
  output: z.discriminatedUnion('selection', [
    TaskView,
    TaskMember,
    z.strictObject({ selection: z.literal('result'), task_id: TaskId, result: TaskResult }),
    z.strictObject({ selection: z.literal('activity'), task_id: TaskId, activity: Activity }),
    z.strictObject({ selection: z.literal('human_request'), task_id: TaskId, human_request: HumanRequestView }),
    z.strictObject({
      selection: z.literal('human_request_files'),
      task_id: TaskId,
      request_id: z.uuid(),
      files: outsideText(FileReferences),
    }),
  ]),
  errors: ['not_found'],
  positional: ['task_id'],
});

/** The same call, for whoever asks for the overview alone. */
export const taskOverview = { ...taskGet, input: taskGet.input.omit({ selection: true }), output: TaskView };
