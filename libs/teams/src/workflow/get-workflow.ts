import { z } from 'zod';
import {
  FarmError,
  type InputOf,
  type OutputOf,
  WorkflowDocument,
  type WorkflowMember,
  type workflowGet,
} from '#contracts';
import type { Transaction } from '#store';
import { decodeCursor, encodeCursor } from '../cursor.js';
import { type LibraryRow, workflowDraftSql, workflowSql } from '../sql/workflow.js';
import { documentOf, refOf, refuseStale } from './draft-store.js';
import { findMember } from './edit-document.js';
import { inLibrary } from './remove-workflow.js';

type Input = InputOf<typeof workflowGet>;
type Answer = OutputOf<typeof workflowGet>;
type Selection = NonNullable<Input['selection']>;
type Of<Kind extends Selection['kind']> = Extract<Selection, { kind: Kind }>;

/** What a cursor of ours holds. */
const RevisionNo = z.coerce.number().pipe(z.int32());

/** @throws not_found, conflict (the draft is at another etag), invalid_input */
export async function getWorkflow(tx: Transaction, input: Input): Promise<Answer> {
  const { workflow_id: id, revision_no, selection = { kind: 'published' } } = input;
  if (selection.kind === 'published') return getPublished(tx, id, { revision_no, ...selection });
  if (revision_no !== undefined) {
    throw new FarmError('invalid_input', 'A revision is chosen only of what is published.', {
      fields: [{ path: '/revision_no', rule: 'published_only' }],
    });
  }
  return selection.kind === 'draft' ? getDraft(tx, id, selection) : getCatalog(tx, id, selection);
}

async function getPublished(
  tx: Transaction,
  id: string,
  { revision_no, member_id }: Omit<Of<'published'>, 'kind'>,
): Promise<Answer> {
  const row = await tx.first(workflowSql.get, { id, revision_no: revision_no ?? null });
  if (!row) throw new FarmError('not_found', 'There is no such published workflow or revision.');
  const document = WorkflowDocument.parse(row.content);
  const facts = {
    workflow_id: row.workflow_id,
    revision_no: row.revision_no,
    published_at: row.published_at.toISOString(),
  };
  return member_id === undefined ? { ...facts, document } : { ...facts, ...oneMember(document.lead, member_id) };
}

async function getDraft(tx: Transaction, id: string, { draft_id, etag, member_id }: Of<'draft'>): Promise<Answer> {
  const row = await tx.first(workflowDraftSql.ofWorkflow, { workflow: id });
  if (!row || (draft_id !== undefined && draft_id !== row.draft_id))
    throw new FarmError('not_found', 'The workflow has no such draft.');
  if (etag !== undefined) refuseStale(row, etag);
  const document = documentOf(row);
  const facts = { workflow_id: id, draft: refOf(row) };
  return member_id === undefined ? { ...facts, document } : { ...facts, ...oneMember(document.lead, member_id) };
}

async function getCatalog(tx: Transaction, id: string, selection: Of<'catalog'>): Promise<Answer> {
  const row = await inLibrary(tx, id);
  const draft = await tx.first(workflowDraftSql.ofWorkflow, { workflow: id });
  return {
    ...factsOf(row),
    draft: draft ? refOf(draft) : null,
    actions: row.revision_no === null ? ['edit', 'remove'] : ['edit', 'start_run', 'remove'],
    revisions: selection.should_include_revisions ? await readRevisions(tx, row, selection) : null,
  };
}

async function readRevisions(
  tx: Transaction,
  { workflow_id: id, revision_no: current }: LibraryRow,
  { revision_cursor, revision_limit: limit }: Of<'catalog'>,
) {
  const list = `revisions of ${id}`;
  const before =
    revision_cursor === undefined ? null : (RevisionNo.safeParse(decodeCursor(list, revision_cursor)).data ?? 0);
  const rows = await tx.all(workflowSql.revisions, { id, before, limit: limit + 1 });
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return {
    items: items.map(({ published_at, ...row }) => ({
      ...row,
      published_at: published_at.toISOString(),
      current: row.revision_no === current,
    })),
    next_cursor: rows.length > limit && last ? encodeCursor(list, String(last.revision_no)) : null,
  };
}

export function factsOf({ published_at, updated_at, ...row }: LibraryRow) {
  return { ...row, published_at: published_at?.toISOString() ?? null, updated_at: updated_at.toISOString() };
}

function oneMember(lead: WorkflowMember, id: string) {
  const found = findMember(lead, id);
  if (!found) throw new FarmError('not_found', 'The workflow has no such member.');
  const { children, ...member } = found;
  return { member, child_ids: children?.map((child) => child.id) ?? null };
}
