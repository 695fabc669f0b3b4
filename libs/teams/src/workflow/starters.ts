import { WorkflowDocument } from '#contracts';
import type { Transaction } from '#store';
import { workflowSql } from '../sql.js';
import { publishWorkflow } from './publish.js';

/** Workflows that every farm has from its first start. A Task that names none runs on `solo`. */
const starters = [
  {
    kind: 'workflow',
    id: 'solo',
    description: 'One member does the whole job. Which agent that is, the Task or the farm says.',
    lead: {
      id: 'lead',
      title: 'Lead',
      instruction:
        'Do the whole job yourself. Read what is there before you change it, keep the change as small as the job allows, run the tests of the repository where it has some, and report green only when the job is done.',
    },
  },
].map((document) => WorkflowDocument.parse(document));

/** Published only where there is no workflow of that name: one that people changed stays theirs. */
export async function insertStarters(tx: Transaction): Promise<void> {
  for (const starter of starters) {
    const known = await tx.first(workflowSql.get, { id: starter.id, revision_no: null });
    if (!known) await publishWorkflow(tx, starter, 'starter');
  }
}
