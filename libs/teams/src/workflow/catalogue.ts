import { createHash } from 'node:crypto';
import {
  canonicalJson,
  type InputOf,
  type OutputOf,
  type Preview,
  type workflowImport,
  type workflowSearch,
} from '#contracts';
import type { Transaction } from '#store';
import { missingProviders } from '../account/missing-providers.js';
import { decodeCursor, encodeCursor } from '../cursor.js';
import type { TeamParts } from '../parts.js';
import { readPolicy } from '../policy/keep-policy.js';
import { breachesOfTree } from '../policy/policy-rules.js';
import { workflowSql } from '../sql/workflow.js';
import { factsOf } from './get-workflow.js';
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
  const { query = null, state = null, limit } = input;
  const list = listOf({ query, state });
  const after = input.cursor === undefined ? '' : decodeCursor(list, input.cursor);
  const rows = await tx.all(workflowSql.search, { after, query, state, limit: limit + 1 });
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return {
    items: items.map(factsOf),
    next_cursor: rows.length > limit && last ? encodeCursor(list, last.workflow_id) : null,
  };
}

/** A cursor is of one list, and another query is another list. */
function listOf(asked: Readonly<Record<string, string | null>>): string {
  return `workflow.${createHash('sha256').update(canonicalJson(asked)).digest('hex').slice(0, 16)}`;
}
