import { z } from 'zod';
import { contract } from './contract.js';
import { AuthoredId, DraftEtag, DraftId } from './ids.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { PageLimit, pageCursor } from './paging.js';
import { storable } from './text.js';
import { MemberFields, WorkflowDocument } from './workflow-document.js';
import { DraftRef } from './workflow-drafts.js';

/** One thing wrong with a workflow document, where a person finds it. */
export const WorkflowIssue = z.strictObject({
  /** Null: the document is not a text. */
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
  input: z.strictObject({ document: storable(limits.workflowBytes).describe('the workflow as text, YAML or JSON') }),
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

export const LibraryState = z.enum(['draft', 'published', 'published_with_draft']);
/** Who wrote what is published: it came with the farm, or people did. */
const Provenance = z.enum(['starter', 'user']);

const library = {
  workflow_id: AuthoredId,
  state: LibraryState,
  provenance: Provenance,
  description: outsideText(z.string()),
  members: z.int(),
  /** Null while nothing is published. */
  revision_no: z.int().nullable(),
  published_at: z.string().nullable(),
  /** When it was last published, or its draft last changed. */
  updated_at: z.string(),
};

export const workflowSearch = contract({
  name: 'workflow_search',
  summary: 'The workflows of the library, published ones and drafts.',
  input: z.strictObject({
    query: storable(256).optional().describe('only workflows with this text in id or description'),
    state: LibraryState.optional().describe('only workflows in this state'),
    limit: PageLimit,
    cursor: pageCursor(256),
  }),
  output: z.strictObject({
    items: z.array(z.strictObject(library)),
    next_cursor: z.string().nullable(),
  }),
  errors: ['cursor_reset_required'],
});

const OneMember = z.strictObject({
  member: MemberFields,
  /** In order; null: the document names none, which is not the same as an empty list. */
  child_ids: z.array(AuthoredId).nullable(),
});

const revisionText = 'number of the revision; absent: the one that Tasks get';
const memberText = 'this member alone; absent: the whole document';

const Selection = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('catalog').describe('what the library knows of it'),
    should_include_revisions: z.boolean().default(true).describe('list its revisions, newest first'),
    revision_cursor: z.string().max(256).optional().describe('next_cursor of the revisions before; absent: the newest'),
    revision_limit: z.int().min(1).max(limits.pageMax).default(20).describe('revisions of a page'),
  }),
  z.strictObject({
    kind: z.literal('published').describe('a published revision'),
    revision_no: z.int32().min(1).optional().describe(revisionText),
    member_id: AuthoredId.optional().describe(memberText),
  }),
  z.strictObject({
    kind: z.literal('draft').describe('the draft that is being edited'),
    draft_id: DraftId.optional().describe('id of the draft; absent: the one of this workflow'),
    etag: DraftEtag.optional().describe('etag of the version that is wanted; absent: whatever stands now'),
    member_id: AuthoredId.optional().describe(memberText),
  }),
]);

const published = { workflow_id: AuthoredId, revision_no: z.int(), published_at: z.string() };

export const workflowGet = contract({
  name: 'workflow_get',
  summary: 'A workflow: as published, its draft, or what the library knows of it.',
  input: z.strictObject({
    workflow_id: AuthoredId.describe('id of the workflow, as workflow_search shows it'),
    /** For the selection `published`, which is meant when none is named. */
    revision_no: z.int32().min(1).optional().describe(revisionText),
    selection: Selection.optional().describe('what to look at; absent: what is published'),
  }),
  output: z.union([
    z.strictObject({ ...published, document: WorkflowDocument }),
    z.strictObject({ ...published, ...OneMember.shape }),
    z.strictObject({ workflow_id: AuthoredId, draft: DraftRef, document: WorkflowDocument }),
    z.strictObject({ workflow_id: AuthoredId, draft: DraftRef, ...OneMember.shape }),
    z.strictObject({
      ...library,
      draft: DraftRef.nullable(),
      actions: z.array(z.enum(['edit', 'start_run', 'remove'])),
      /** Newest first; null when they were not asked for. */
      revisions: z
        .strictObject({
          items: z.array(
            z.strictObject({
              revision_no: z.int(),
              provenance: Provenance,
              members: z.int(),
              published_at: z.string(),
              /** The one that Tasks get that name none. */
              current: z.boolean(),
            }),
          ),
          next_cursor: z.string().nullable(),
        })
        .nullable(),
    }),
  ]),
  errors: ['not_found', 'conflict', 'cursor_reset_required'],
  positional: ['workflow_id'],
});
