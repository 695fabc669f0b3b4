import { FarmError, type InputOf, type OutputOf, type Preview, type workflowRemove } from '#contracts';
import type { Transaction } from '#store';
import { type LibraryRow, workflowDraftSql, workflowSql } from '../sql/workflow.js';

type Input = InputOf<typeof workflowRemove>;

/**
 * Out of the library, with its draft. Revisions stay, for Tasks pin them; whoever publishes under this name again goes on with the
 * numbers.
 *
 * @throws not_found
 */
export async function removeWorkflow(
  tx: Transaction,
  { workflow_id }: Input,
): Promise<OutputOf<typeof workflowRemove>> {
  await tx.first(workflowSql.lock, { id: workflow_id });
  await inLibrary(tx, workflow_id);
  await tx.run(workflowDraftSql.remove, { workflow: workflow_id });
  await tx.run(workflowSql.select, { id: workflow_id, revision_no: null });
  return { workflow_id, is_removed: true };
}

export async function previewWorkflowRemoval(tx: Transaction, { workflow_id }: Input): Promise<Preview> {
  const { state, revision_no } = await inLibrary(tx, workflow_id);
  return {
    summary: `Takes the workflow ${workflow_id} out of the library`,
    changes: [{ id: workflow_id, before: { state, revision_no }, after: null }],
  };
}

/** @throws not_found */
export async function inLibrary(tx: Transaction, id: string): Promise<LibraryRow> {
  const row = await tx.first(workflowSql.inLibrary, { id });
  if (row) return row;
  throw new FarmError('not_found', 'There is no such workflow in the library.');
}
