import {
  canonicalJson,
  type DraftRef,
  FarmError,
  limits,
  newDraftEtag,
  newUndoReceiptId,
  utf8Length,
  WorkflowDocument,
} from '#contracts';
import type { Transaction } from '#store';
import { type DraftRow, workflowDraftSql, workflowSql } from '../sql/workflow.js';
import { membersOf } from './edit-document.js';

/** A draft that nobody else changes until the commit, as it is now. @throws not_found */
export async function lockDraft(tx: Transaction, draftId: string): Promise<DraftRow> {
  const { workflow } = await readDraft(tx, draftId);
  await tx.first(workflowSql.lock, { id: workflow });
  return readDraft(tx, draftId);
}

/** @throws not_found */
export async function readDraft(tx: Transaction, draftId: string): Promise<DraftRow> {
  const row = await tx.first(workflowDraftSql.read, { draft_id: draftId });
  if (row) return row;
  throw new FarmError('not_found', 'There is no such draft: it was published or discarded.', {
    hint: 'workflow_get with the selection catalog shows whether the workflow has another one.',
  });
}

/** @throws conflict, with the version that stands now: what the caller saw has been changed since (I16). */
export function refuseStale(row: DraftRow, etag: string | undefined): void {
  if (row.etag === etag) return;
  throw new FarmError(
    'conflict',
    `The draft ${row.draft_id} of ${row.workflow} is at ${row.etag} now, with ${row.members} ${row.members === 1 ? 'member' : 'members'}; nothing was changed.`,
    { hint: 'Read it again with workflow_get (selection draft), and show that etag with the change.' },
  );
}

export function refOf(row: DraftRow): DraftRef {
  const { draft_id, workflow, etag, base_revision_no, members, updated_at } = row;
  return {
    draft_id,
    workflow_id: workflow,
    etag,
    base_revision_no,
    members,
    updated_at: updated_at.toISOString(),
  };
}

export const documentOf = ({ content }: Pick<DraftRow, 'content'>): WorkflowDocument => WorkflowDocument.parse(content);

export const sameDocument = (one: WorkflowDocument, other: WorkflowDocument): boolean =>
  canonicalJson(one) === canonicalJson(other);

/** What the rows of a draft are written with. @throws too_large */
export function asContent(document: WorkflowDocument): { readonly content: string; readonly members: number } {
  const content = canonicalJson(document);
  if (utf8Length(content) <= limits.workflowBytes) return { content, members: membersOf(document.lead).length };
  throw new FarmError('too_large', 'The draft would be over 1 MiB.', {
    hint: 'Make the prose of its members shorter.',
  });
}

/** The next version of a locked draft, and what leads back. */
export async function changeDraft(
  tx: Transaction,
  before: DraftRow,
  document: WorkflowDocument,
  sequence: number,
): Promise<{ readonly row: DraftRow; readonly receipt: string }> {
  const row = await writeVersion(tx, before, document, sequence);
  const receipt = newUndoReceiptId();
  const content = canonicalJson(documentOf(before));
  await tx.run(workflowDraftSql.keepUndo, { receipt_id: receipt, draft_id: row.draft_id, etag: row.etag, content });
  return { row, receipt };
}

export async function writeVersion(
  tx: Transaction,
  before: DraftRow,
  document: WorkflowDocument,
  sequence: number,
): Promise<DraftRow> {
  const row = await tx.first(workflowDraftSql.change, {
    draft_id: before.draft_id,
    from: before.etag,
    to: newDraftEtag(),
    next_member_sequence: sequence,
    ...asContent(document),
  });
  if (!row) throw new Error('a locked draft changed');
  return row;
}
