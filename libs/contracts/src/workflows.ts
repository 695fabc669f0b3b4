import { z } from 'zod';
import { contract } from './contract.js';
import { AuthoredId } from './ids.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { storable } from './text.js';
import { WorkflowDocument } from './workflow-document.js';

/** One thing wrong with a workflow document, where a person finds it. */
export const WorkflowIssue = z.strictObject({
  line: z.int().nullable(),
  column: z.int().nullable(),
  /** JSON pointer into the document; authored ids may stand in it, prose never. */
  path: z.string(),
  message: outsideText(z.string()),
});
export type WorkflowIssue = z.output<typeof WorkflowIssue>;

export const workflowImport = contract({
  name: 'workflow_import',
  summary: 'Check a workflow document (YAML or JSON) and publish it as a new revision.',
  input: z.strictObject({ document: storable(limits.workflowBytes) }),
  output: z.discriminatedUnion('accepted', [
    z.strictObject({
      accepted: z.literal(true),
      workflow_id: AuthoredId,
      revision_no: z.int(),
      /** False when the same content was published before: that revision is selected again (I17). */
      created: z.boolean(),
      /** What stands in the way of a Task now: a provider that no machine has. */
      warnings: z.array(z.string()).optional(),
    }),
    /** All that is wrong, at once; nothing was stored. */
    z.strictObject({ accepted: z.literal(false), issues: z.array(WorkflowIssue) }),
  ]),
  positional: ['document'],
});

export const workflowSearch = contract({
  name: 'workflow_search',
  summary: 'Published workflows.',
  input: z.strictObject({
    query: storable(256).optional(),
    limit: z.int().min(1).max(limits.pageMax).default(50),
    cursor: z.string().max(256).optional(),
  }),
  output: z.strictObject({
    items: z.array(
      z.strictObject({
        workflow_id: AuthoredId,
        description: outsideText(z.string()),
        revision_no: z.int(),
        members: z.int(),
        published_at: z.string(),
      }),
    ),
    next_cursor: z.string().nullable(),
  }),
});

export const workflowGet = contract({
  name: 'workflow_get',
  summary: 'A workflow, as published.',
  input: z.strictObject({ workflow_id: AuthoredId, revision_no: z.int32().min(1).optional() }),
  output: z.strictObject({
    workflow_id: AuthoredId,
    revision_no: z.int(),
    document: WorkflowDocument,
    published_at: z.string(),
  }),
  errors: ['not_found'],
  positional: ['workflow_id'],
});
