import { createHash } from 'node:crypto';
import { canonicalJson, type Preview, type WorkflowDocument, type WorkflowMember } from '#contracts';
import type { Transaction } from '#store';
import { workflowSql } from '../sql/workflow.js';

export interface Published {
  readonly workflow_id: string;
  readonly revision_no: number;
  /** False when this content was published before: that revision is selected again (I17). */
  readonly created: boolean;
}

/** Publishes a document as the workflow's current revision. */
export async function publishWorkflow(
  tx: Transaction,
  document: WorkflowDocument,
  provenance: 'starter' | 'user' = 'user',
): Promise<Published> {
  const { id } = document;
  const hash = hashOf(document);
  await tx.run(workflowSql.ensure, { id });
  await tx.first(workflowSql.lock, { id });
  const known = await tx.first(workflowSql.revisionOf, { id, hash, provenance });
  const revision =
    known ??
    (await tx.first(workflowSql.addRevision, {
      id,
      hash,
      provenance,
      content: canonicalJson(document),
      members: countMembers(document.lead),
    }));
  if (!revision) throw new Error('a revision was neither found nor made');
  await tx.run(workflowSql.select, { id, revision_no: revision.revision_no });
  return { workflow_id: id, revision_no: revision.revision_no, created: known === undefined };
}

/** Which revision would be the current one. */
export async function previewPublication(tx: Transaction, document: WorkflowDocument): Promise<Preview> {
  const { id } = document;
  const current = await tx.first(workflowSql.get, { id, revision_no: null });
  const known = await tx.first(workflowSql.revisionOf, { id, hash: hashOf(document), provenance: 'user' });
  return {
    summary: `Publishes the workflow ${id}`,
    changes: [
      {
        id,
        before: current ? { revision_no: current.revision_no } : null,
        after: { revision_no: known?.revision_no ?? 'new' },
      },
    ],
  };
}

/** Keeps the workflow's current revision what it is until the commit; nothing where there is none yet. */
export async function lockWorkflow(tx: Transaction, id: string): Promise<void> {
  await tx.first(workflowSql.lock, { id });
}

function countMembers(member: WorkflowMember): number {
  return (member.children ?? []).reduce((sum, child) => sum + countMembers(child), 1);
}

function hashOf(value: unknown): Buffer {
  return createHash('sha256').update(canonicalJson(value)).digest();
}
