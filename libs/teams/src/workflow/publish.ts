import { createHash } from 'node:crypto';
import { canonicalJson, type WorkflowDocument, type WorkflowMember } from '#contracts';
import type { Transaction } from '#store';
import { workflowSql } from '../sql.js';

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
  tx.later(workflowSql.ensure, { id });
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

function countMembers(member: WorkflowMember): number {
  return (member.children ?? []).reduce((sum, child) => sum + countMembers(child), 1);
}

function hashOf(value: unknown): Buffer {
  return createHash('sha256').update(canonicalJson(value)).digest();
}
