import {
  FarmError,
  type InputOf,
  type OutputOf,
  type Preview,
  WorkflowDocument,
  type workflowGet,
  type workflowImport,
  type workflowSearch,
} from '#contracts';
import type { Transaction } from '#store';
import { missingProviders } from '../account/missing-providers.js';
import { decodeCursor, encodeCursor } from '../cursor.js';
import type { TeamParts } from '../parts.js';
import { readPolicy } from '../policy/keep-policy.js';
import { breachesOfTree } from '../policy/policy-rules.js';
import { workflowSql } from '../sql.js';
import { parseWorkflow } from './parse-workflow.js';
import { lockWorkflow, previewPublication, publishWorkflow } from './publish.js';

/** Checks a document and publishes it; what is wrong is an answer, all of it at once. */
export async function importWorkflow(
  parts: Pick<TeamParts, 'machines' | 'defaultProvider'>,
  tx: Transaction,
  input: InputOf<typeof workflowImport>,
): Promise<OutputOf<typeof workflowImport>> {
  const policy = await readPolicy(tx);
  const parsed = parseWorkflow(input.document, ({ lead }) => breachesOfTree(policy, lead, undefined));
  if (!parsed.ok) return { accepted: false, issues: [...parsed.issues] };
  const published = await publishWorkflow(tx, parsed.document);
  const warnings = missingProviders(parsed.document, (await parts.machines?.(tx)) ?? [], {
    pool: 'default',
    labels: [],
    provider: parts.defaultProvider ?? 'scripted',
  });
  return { accepted: true, ...published, ...(warnings.length === 0 ? {} : { warnings: [...warnings] }) };
}

/** What `importWorkflow` would do: nothing, where the document does not hold. */
export async function previewImport(tx: Transaction, input: InputOf<typeof workflowImport>): Promise<Preview> {
  const parsed = parseWorkflow(input.document);
  if (parsed.ok) return previewPublication(tx, parsed.document);
  return { summary: 'Publishes nothing: the document does not hold', changes: [] };
}

export async function lockImport(tx: Transaction, input: InputOf<typeof workflowImport>): Promise<void> {
  const parsed = parseWorkflow(input.document);
  if (parsed.ok) await lockWorkflow(tx, parsed.document.id);
}

export async function searchWorkflows(
  tx: Transaction,
  input: InputOf<typeof workflowSearch>,
): Promise<OutputOf<typeof workflowSearch>> {
  const after = input.cursor === undefined ? '' : decodeCursor('workflow', input.cursor);
  const rows = await tx.all(workflowSql.search, { after, query: input.query ?? null, limit: input.limit + 1 });
  const items = rows.slice(0, input.limit);
  const last = items.at(-1);
  return {
    items: items.map((row) => ({ ...row, published_at: row.published_at.toISOString() })),
    next_cursor: rows.length > input.limit && last ? encodeCursor('workflow', last.workflow_id) : null,
  };
}

/** @throws not_found */
export async function getWorkflow(
  tx: Transaction,
  input: InputOf<typeof workflowGet>,
): Promise<OutputOf<typeof workflowGet>> {
  const row = await tx.first(workflowSql.get, { id: input.workflow_id, revision_no: input.revision_no ?? null });
  if (!row) throw new FarmError('not_found', 'There is no such published workflow or revision.');
  return {
    workflow_id: row.workflow_id,
    revision_no: row.revision_no,
    document: WorkflowDocument.parse(row.content),
    published_at: row.published_at.toISOString(),
  };
}
