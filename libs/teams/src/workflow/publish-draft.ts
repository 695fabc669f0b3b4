import {
  FarmError,
  type InputOf,
  limits,
  type OutputOf,
  type Preview,
  type WorkflowDocument,
  type workflowDraftPublish,
  type workflowDraftValidate,
  workflowText,
} from '#contracts';
import type { Transaction } from '#store';
import { missingProviders } from '../account/missing-providers.js';
import type { TeamParts } from '../parts.js';
import { readPolicy } from '../policy/keep-policy.js';
import { breachesOfTree } from '../policy/policy-rules.js';
import { workflowDraftSql } from '../sql/workflow.js';
import { documentOf, lockDraft, readDraft, refOf, refuseStale } from './draft-store.js';
import { parseWorkflow } from './parse-workflow.js';
import { previewPublication, publishWorkflow } from './publish.js';

type Publication = InputOf<typeof workflowDraftPublish>;
type Issue = OutputOf<typeof workflowDraftValidate>['issues'][number];
type Parts = Pick<TeamParts, 'machines' | 'defaultProvider'>;

/** @throws not_found */
export async function validateDraft(
  parts: Parts,
  tx: Transaction,
  { draft_id }: InputOf<typeof workflowDraftValidate>,
): Promise<OutputOf<typeof workflowDraftValidate>> {
  const row = await readDraft(tx, draft_id);
  const document = documentOf(row);
  const issues = await issuesOf(tx, document);
  return {
    draft: refOf(row),
    is_valid: issues.length === 0,
    issues: [...issues],
    warnings: await warningsOf(parts, tx, document),
  };
}

/** Revision, pointer and the end of the draft in one transaction. @throws not_found, conflict, invalid_workflow */
export async function publishDraft(
  parts: Parts,
  tx: Transaction,
  { draft_id, etag }: Publication,
): Promise<OutputOf<typeof workflowDraftPublish>> {
  const row = await lockDraft(tx, draft_id);
  refuseStale(row, etag);
  const document = documentOf(row);
  refuseInvalid(await issuesOf(tx, document));
  const published = await publishWorkflow(tx, document);
  await tx.run(workflowDraftSql.remove, { workflow: row.workflow });
  return { ...published, warnings: await warningsOf(parts, tx, document) };
}

export async function previewDraftPublication(tx: Transaction, { draft_id, etag }: Publication): Promise<Preview> {
  const row = await readDraft(tx, draft_id);
  refuseStale(row, etag);
  const document = documentOf(row);
  refuseInvalid(await issuesOf(tx, document));
  return previewPublication(tx, document);
}

/** As an import would find them: so whatever is published can be exported and imported again. */
async function issuesOf(tx: Transaction, document: WorkflowDocument): Promise<readonly Issue[]> {
  const policy = await readPolicy(tx);
  const parsed = parseWorkflow(workflowText(document), ({ lead }) => breachesOfTree(policy, lead, undefined));
  return parsed.ok ? [] : parsed.issues.map(({ path, message }) => ({ path, message }));
}

function refuseInvalid(issues: readonly Issue[]): void {
  if (issues.length === 0) return;
  throw new FarmError('invalid_workflow', 'The draft does not hold; nothing was published.', {
    fields: issues.slice(0, limits.fieldErrors).map(({ path, message }) => ({ path, rule: message })),
    hint: 'workflow_draft_validate tells all that is wrong.',
  });
}

async function warningsOf(parts: Parts, tx: Transaction, document: WorkflowDocument): Promise<string[]> {
  const where = { pool: 'default', labels: [], provider: parts.defaultProvider ?? 'scripted' };
  return [...missingProviders(document, (await parts.machines?.(tx)) ?? [], where)];
}
