import {
  FarmError,
  type InputOf,
  type OutputOf,
  type Preview,
  type WorkflowDocument,
  type workflowDraftDiscard,
  type workflowDraftEdit,
  type workflowDraftUndo,
} from '#contracts';
import type { Transaction } from '#store';
import { type DraftRow, workflowDraftSql } from '../sql/workflow.js';
import {
  asContent,
  changeDraft,
  documentOf,
  lockDraft,
  readDraft,
  refOf,
  refuseStale,
  sameDocument,
  writeVersion,
} from './draft-store.js';
import { editDocument, findMember } from './edit-document.js';

type Edit = InputOf<typeof workflowDraftEdit>;
type Undo = InputOf<typeof workflowDraftUndo>;
type Discard = InputOf<typeof workflowDraftDiscard>;

/** @throws not_found, conflict, illegal_state, budget_exhausted, too_large */
export async function editDraft(tx: Transaction, input: Edit): Promise<OutputOf<typeof workflowDraftEdit>> {
  const before = await lockDraft(tx, input.draft_id);
  const { document, sequence, accepted } = edited(before, input);
  if (sameDocument(documentOf(before), document))
    return { draft: refOf(before), undo_receipt: null, accepted_change: accepted };
  const { row, receipt } = await changeDraft(tx, before, document, sequence);
  return { draft: refOf(row), undo_receipt: receipt, accepted_change: accepted };
}

export async function previewEdit(tx: Transaction, input: Edit): Promise<Preview> {
  const row = await readDraft(tx, input.draft_id);
  const before = documentOf(row);
  const { document, accepted } = edited(row, input);
  asContent(document);
  const what = `Changes the draft of ${row.workflow}`;
  if (accepted.kind === 'workflow_updated')
    return { summary: what, changes: [{ id: row.workflow, before: wordsOf(before), after: wordsOf(document) }] };
  const ids =
    accepted.kind === 'member_added'
      ? accepted.created_ids
      : accepted.kind === 'member_removed'
        ? accepted.removed_ids
        : [accepted.member_id];
  return {
    summary: `${what}: ${accepted.kind.replace('_', ' ')}`,
    changes: ids.map((id) => ({ id, before: memberOf(before, id), after: memberOf(document, id) })),
  };
}

/** @throws not_found, conflict (the version is another one, or the receipt is used) */
export async function undoDraft(tx: Transaction, input: Undo): Promise<OutputOf<typeof workflowDraftUndo>> {
  const before = await lockDraft(tx, input.draft_id);
  refuseStale(before, input.etag);
  const kept = await tx.first(workflowDraftSql.useUndo, { ...input });
  if (!kept) throw usedUp();
  const row = await writeVersion(tx, before, documentOf(kept), before.next_member_sequence);
  return { draft: refOf(row), consumed_receipt_id: input.receipt_id };
}

export async function previewUndo(tx: Transaction, input: Undo): Promise<Preview> {
  const row = await readDraft(tx, input.draft_id);
  refuseStale(row, input.etag);
  const kept = await tx.first(workflowDraftSql.readUndo, { ...input });
  if (!kept) throw usedUp();
  return {
    summary: `Undoes the last change of the draft of ${row.workflow}`,
    changes: [
      { id: row.workflow, before: { members: row.members }, after: { members: asContent(documentOf(kept)).members } },
    ],
  };
}

/** @throws not_found, conflict */
export async function discardDraft(tx: Transaction, input: Discard): Promise<OutputOf<typeof workflowDraftDiscard>> {
  const row = await lockDraft(tx, input.draft_id);
  refuseStale(row, input.etag);
  await tx.run(workflowDraftSql.remove, { workflow: row.workflow });
  return { is_discarded: true, draft_id: row.draft_id };
}

export async function previewDiscard(tx: Transaction, input: Discard): Promise<Preview> {
  const row = await readDraft(tx, input.draft_id);
  refuseStale(row, input.etag);
  const before = { etag: row.etag, members: row.members };
  return {
    summary: `Throws the draft of ${row.workflow} away`,
    changes: [{ id: row.workflow, before, after: null }],
  };
}

function edited(row: DraftRow, { etag, operation }: Edit) {
  refuseStale(row, etag);
  return editDocument(documentOf(row), row.next_member_sequence, operation);
}

const usedUp = (): FarmError =>
  new FarmError('conflict', 'The receipt is used, or undoes the change of an older version; nothing was changed.');

const wordsOf = ({ description, note }: WorkflowDocument) => ({ description, note: note ?? null });

function memberOf({ lead }: WorkflowDocument, id: string): unknown {
  const found = findMember(lead, id);
  if (!found) return null;
  const { children: _, ...own } = found;
  return own;
}
