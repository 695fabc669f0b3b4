import { z } from 'zod';
import { contract } from './contract.js';
import { ObjectId, TaskId } from './ids.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { prose, proseBytes } from './text.js';

export const taskDiff = contract({
  name: 'task_diff',
  summary: 'What a Task has changed so far, as a unified diff or as numbers.',
  input: z.strictObject({
    task_id: TaskId,
    stat: z.boolean().default(false).describe('numbers only, without the text of the diff'),
  }),
  output: z.strictObject({
    /** Null before the Task was prepared. */
    base: ObjectId.nullable(),
    commit: ObjectId.nullable(),
    text: outsideText(z.string()),
    /** The text ends before the diff does: `task patch` has all of it. */
    truncated: z.boolean(),
    files_changed: z.int(),
    additions: z.int(),
    deletions: z.int(),
  }),
  errors: ['not_found'],
  positional: ['task_id'],
});

/** A branch that was asked for and changes what a CI system would run waits until a person has seen it (H39). */
export const CiApproval = z.strictObject({
  /**
   * A hash over origin, commit and changes: what `approve` must say; null where the diff is cut or binary: nobody approves what
   * nobody was shown.
   */
  digest: z.string().nullable(),
  /** Where it would go: the name of the repository, and its URL. */
  repository: z.string(),
  origin: outsideText(z.string()),
  files: z.array(outsideText(z.string())),
  diff: outsideText(z.string()),
  truncated: z.boolean(),
  /** Something in it is no text of UTF-8, which nobody can read in a diff. */
  binary: z.boolean(),
});

export const PullRequest = z.strictObject({
  number: z.int(),
  url: z.string(),
  state: z.enum(['open', 'closed', 'merged']),
  /** False: there was one for this branch already. */
  created: z.boolean(),
});
export type PullRequest = z.output<typeof PullRequest>;

export const ForgeKind = z.enum(['github', 'gitlab', 'gitea']);
export type ForgeKind = z.output<typeof ForgeKind>;

export const taskPush = contract({
  name: 'task_push',
  summary: 'Push the branch of a Task to the origin of its repository; on request with a pull request.',
  input: z.strictObject({
    task_id: TaskId,
    pull_request: z.boolean().default(false).describe('open a pull request, too, or find the one there is'),
    title: prose(255).optional().describe("title of the pull request; absent: the Task's"),
    body: proseBytes(limits.pullRequestBytes).optional().describe('text of the pull request; absent: none'),
    target: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .describe('branch that the pull request goes to; absent: the default branch'),
    forge: ForgeKind.optional().describe("what the origin's host runs; absent: told from its name or its answers"),
    approve: z
      .string()
      .max(80)
      .optional()
      .describe('digest of the changes to CI files, from the call before: a person has read them'),
  }),
  output: z.strictObject({
    state: z.enum(['pushed', 'waiting_for_approval']),
    branch: z.string(),
    commit: ObjectId,
    /** Nothing was sent: the origin had it before this call. */
    already: z.boolean(),
    approval: CiApproval.nullable(),
    pull_request: PullRequest.nullable(),
  }),
  errors: ['not_found', 'conflict', 'not_allowed', 'source_unavailable', 'source_refused'],
  positional: ['task_id'],
});
