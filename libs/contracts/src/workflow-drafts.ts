import { z } from 'zod';
import { contract } from './contract.js';
import { AuthoredId, DraftEtag, DraftId, UndoReceiptId } from './ids.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { Policy } from './policy.js';
import { MemberChange, NewMember, patchText } from './replan.js';
import { prose } from './text.js';
import { ExtensionMode, HumanRequestKind, ProviderKind, WorkflowDocument, workflowTexts } from './workflow-document.js';

/** A draft in a line: enough to edit it. */
export const DraftRef = z.strictObject({
  draft_id: DraftId,
  workflow_id: AuthoredId,
  /** Names this version. It is shown with each change, so that nobody changes what another has changed since (I16). */
  etag: DraftEtag,
  /** What was published when it was begun. */
  base_revision_no: z.int().nullable(),
  members: z.int(),
  updated_at: z.string(),
});
export type DraftRef = z.output<typeof DraftRef>;

/** Undoes the change that it came with, once, while the draft stands at that version. */
const UndoReceipt = UndoReceiptId.nullable();

export const workflowAuthoringOptions = contract({
  name: 'workflow_authoring_options',
  summary: 'What a workflow may say: its fields and their limits, providers, walls, and what this farm has of them.',
  input: z.strictObject({}),
  output: z.strictObject({
    fields: z.array(
      z.strictObject({
        of: z.enum(['workflow', 'member']),
        name: z.string(),
        required: z.boolean(),
        /** Characters, or entries of a list. */
        at_most: z.int().nullable(),
      }),
    ),
    tree: z.strictObject({ members: z.int(), depth: z.int(), children: z.int(), bytes: z.int(), nodes: z.int() }),
    providers: z.array(
      z.strictObject({
        kind: ProviderKind,
        efforts: z.array(z.string()),
        extension_modes: z.array(ExtensionMode),
        /** Whether a machine that is here offers it. */
        available: z.boolean(),
      }),
    ),
    /** Who does the turns of members that name nobody. */
    default_provider: z.string(),
    sandboxes: z.array(z.strictObject({ mode: z.string(), network: z.string() })),
    human_request: z.array(HumanRequestKind),
    command_run: z.array(z.literal('allow')),
    /** The most that a workflow of this farm may ask for. */
    policy: Policy,
  }),
});

export const workflowDraftCreate = contract({
  name: 'workflow_draft_create',
  summary: 'Begin a draft, from a complete workflow or from what is published; with its etag, replace one.',
  input: z.strictObject({
    workflow_id: AuthoredId.optional().describe(
      'id of the workflow: without a document, the draft begins from what is published',
    ),
    workflow: WorkflowDocument.optional().describe(
      'the complete document that the draft begins from; absent: what is published',
    ),
    etag: DraftEtag.optional().describe('etag of the draft that is replaced; absent: none is'),
  }),
  output: z.strictObject({
    draft: DraftRef,
    is_created: z.boolean(),
    /** Null when nothing was replaced. */
    undo_receipt: UndoReceipt,
  }),
  errors: ['not_found', 'conflict', 'budget_exhausted', 'too_large'],
  positional: ['workflow_id'],
});

const version = { draft_id: DraftId, etag: DraftEtag };

export const DraftEdit = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('update_workflow').describe('change the words of the workflow itself'),
    patch: z
      .strictObject({
        description: outsideText(prose(limits.workflowDescription)).optional().describe(workflowTexts.description),
        note: outsideText(prose(limits.workflowNote)).nullable().optional().describe(workflowTexts.note),
      })
      .describe(patchText),
  }),
  /** The farm gives the ids: `member-<n>`, never one again. */
  z.strictObject({
    kind: z.literal('add_member').describe('add a member, with those below it'),
    parent_member_id: AuthoredId.describe('id of the member that it stands below'),
    member: NewMember,
  }),
  z.strictObject({
    kind: z.literal('update_member').describe('change one member alone'),
    member_id: AuthoredId.describe('id of the member'),
    patch: MemberChange.describe(patchText),
  }),
  z.strictObject({
    kind: z.literal('remove_member').describe('remove a member, with those below it'),
    member_id: AuthoredId.describe('id of the member; the lead stays'),
  }),
]);
export type DraftEdit = z.output<typeof DraftEdit>;

export const workflowDraftEdit = contract({
  name: 'workflow_draft_edit',
  summary: 'Change one thing of a draft: its own words, or one member of its team.',
  input: z.strictObject({ ...version, operation: DraftEdit.describe('the one change') }),
  output: z.strictObject({
    draft: DraftRef,
    /** Null when nothing was to be changed: the etag is the same, too. */
    undo_receipt: UndoReceipt,
    accepted_change: z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('workflow_updated') }),
      z.strictObject({
        kind: z.literal('member_added'),
        parent_member_id: AuthoredId,
        member_id: AuthoredId,
        /** With those below it, in the order of the document. */
        created_ids: z.array(AuthoredId),
      }),
      z.strictObject({ kind: z.literal('member_updated'), member_id: AuthoredId }),
      z.strictObject({ kind: z.literal('member_removed'), member_id: AuthoredId, removed_ids: z.array(AuthoredId) }),
    ]),
  }),
  errors: ['not_found', 'conflict', 'illegal_state', 'budget_exhausted', 'too_large'],
  positional: ['draft_id', 'etag'],
});

const Issue = z.strictObject({ path: z.string(), message: outsideText(z.string()) });

export const workflowDraftValidate = contract({
  name: 'workflow_draft_validate',
  summary: 'All that keeps a draft from being published, at once.',
  input: z.strictObject({ draft_id: DraftId }),
  output: z.strictObject({
    draft: DraftRef,
    is_valid: z.boolean(),
    issues: z.array(Issue),
    /** What would stand in the way of a Task now: a provider that no machine has. */
    warnings: z.array(z.string()),
  }),
  errors: ['not_found'],
  positional: ['draft_id'],
});

export const workflowDraftUndo = contract({
  name: 'workflow_draft_undo',
  summary: 'Undo the last change of a draft.',
  input: z.strictObject({ ...version, receipt_id: UndoReceiptId }),
  output: z.strictObject({ draft: DraftRef, consumed_receipt_id: UndoReceiptId }),
  errors: ['not_found', 'conflict'],
  positional: ['draft_id', 'etag', 'receipt_id'],
});

export const workflowDraftDiscard = contract({
  name: 'workflow_draft_discard',
  summary: 'Throw a draft away; what is published stays.',
  input: z.strictObject(version),
  output: z.strictObject({ is_discarded: z.literal(true), draft_id: DraftId }),
  errors: ['not_found', 'conflict'],
  positional: ['draft_id', 'etag'],
});

export const workflowDraftPublish = contract({
  name: 'workflow_draft_publish',
  summary: 'Publish a draft as the revision that Tasks get from now on; the draft is gone with it.',
  input: z.strictObject(version),
  output: z.strictObject({
    workflow_id: AuthoredId,
    revision_no: z.int(),
    /** False when the same content was published before: that revision is selected again (I17). */
    created: z.boolean(),
    warnings: z.array(z.string()),
  }),
  errors: ['not_found', 'conflict', 'invalid_workflow'],
  positional: ['draft_id', 'etag'],
});

export const workflowRemove = contract({
  name: 'workflow_remove',
  summary: 'Take a workflow out of the library, with its draft; Tasks that run on it go on.',
  input: z.strictObject({ workflow_id: AuthoredId.describe('id of the workflow, as workflow_search shows it') }),
  output: z.strictObject({ workflow_id: AuthoredId, is_removed: z.literal(true) }),
  errors: ['not_found'],
  positional: ['workflow_id'],
});
