import {
  FarmError,
  type InputOf,
  newDraftEtag,
  newDraftId,
  type OutputOf,
  type Preview,
  type WorkflowDocument,
  type workflowDraftCreate,
} from '#contracts';
import type { Transaction } from '#store';
import { type DraftRow, workflowDraftSql, workflowSql } from '../sql/workflow.js';
import { asContent, changeDraft, documentOf, refOf, refuseStale, sameDocument } from './draft-store.js';
import { firstSequence, shapeOf } from './edit-document.js';
import { refuseOversize } from './tree-rules.js';

type Input = InputOf<typeof workflowDraftCreate>;

type Beginning =
  | { readonly kind: 'stands'; readonly row: DraftRow }
  | { readonly kind: 'replaces'; readonly row: DraftRow; readonly document: WorkflowDocument }
  | { readonly kind: 'begins'; readonly document: WorkflowDocument; readonly base: number | null };

/**
 * Begins a draft from a whole document or from what is published. One that stands is replaced only by who shows its etag; the same
 * document again changes nothing.
 *
 * @throws invalid_input · not_found (nothing is published to begin from) · conflict (the etag) · budget_exhausted, too_large
 */
export async function beginDraft(tx: Transaction, input: Input): Promise<OutputOf<typeof workflowDraftCreate>> {
  const id = workflowOf(input);
  if (input.workflow !== undefined) await tx.run(workflowSql.ensure, { id });
  await tx.first(workflowSql.lock, { id });
  const beginning = await look(tx, id, input);
  if (beginning.kind === 'stands') return { draft: refOf(beginning.row), is_created: false, undo_receipt: null };
  const sequence = firstSequence(beginning.document);
  if (beginning.kind === 'replaces') {
    const next = Math.max(sequence, beginning.row.next_member_sequence);
    const { row, receipt } = await changeDraft(tx, beginning.row, beginning.document, next);
    return { draft: refOf(row), is_created: false, undo_receipt: receipt };
  }
  const row = await tx.first(workflowDraftSql.add, {
    draft_id: newDraftId(),
    workflow: id,
    base_revision_no: beginning.base,
    etag: newDraftEtag(),
    next_member_sequence: sequence,
    ...asContent(beginning.document),
  });
  if (!row) throw new Error('a draft was not written');
  return { draft: refOf(row), is_created: true, undo_receipt: null };
}

export async function previewBeginning(tx: Transaction, input: Input): Promise<Preview> {
  const id = workflowOf(input);
  const beginning = await look(tx, id, input);
  if (beginning.kind === 'stands') return { summary: `Changes nothing: ${id} has this draft already`, changes: [] };
  const after = { members: asContent(beginning.document).members };
  if (beginning.kind === 'begins')
    return { summary: `Begins a draft of the workflow ${id}`, changes: [{ id, before: null, after }] };
  const before = { etag: beginning.row.etag, members: beginning.row.members };
  return { summary: `Replaces the draft of the workflow ${id}`, changes: [{ id, before, after }] };
}

export async function lockBeginning(tx: Transaction, input: Input): Promise<void> {
  await tx.first(workflowSql.lock, { id: workflowOf(input) });
}

function workflowOf({ workflow_id, workflow }: Input): string {
  // Here, before anything is made of it: each level of a tree costs more than the one above.
  if (workflow !== undefined) refuseOversize(shapeOf(workflow.lead));
  const id = workflow?.id ?? workflow_id;
  if (id !== undefined && (workflow_id === undefined || workflow_id === id)) return id;
  throw new FarmError(
    'invalid_input',
    id === undefined
      ? 'A draft begins from a whole workflow, or from the one that workflow_id names.'
      : 'The workflow has another id than workflow_id says.',
    { fields: [{ path: '/workflow_id', rule: id === undefined ? 'workflow or workflow_id' : 'same_id' }] },
  );
}

async function look(tx: Transaction, id: string, { workflow, etag }: Input): Promise<Beginning> {
  const row = await tx.first(workflowDraftSql.ofWorkflow, { workflow: id });
  const published = await tx.first(workflowSql.get, { id, revision_no: null });
  const base = published?.revision_no ?? null;
  const document = workflow ?? (published && documentOf(published));
  if (row) {
    if (document === undefined || (workflow === undefined && etag === undefined)) return { kind: 'stands', row };
    if (sameDocument(documentOf(row), document)) return { kind: 'stands', row };
    refuseStale(row, etag);
    return { kind: 'replaces', row, document };
  }
  if (document === undefined) throw new FarmError('not_found', 'There is no such published workflow to begin from.');
  if (etag === undefined) return { kind: 'begins', document, base };
  throw new FarmError('conflict', 'The draft that was to be replaced is gone: it was published or discarded.', {
    hint: 'Leave the etag out to begin a new one.',
  });
}
