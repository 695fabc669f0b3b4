import { WorkflowDocument } from '#contracts';
import type { Transaction } from '#store';
import { workflowSql } from '../sql/workflow.js';
import { publishWorkflow } from './publish.js';
import { decisionThroughCompetingPrototypes } from './starters/decision-through-competing-prototypes.js';
import { deepResearchAndDecisionBrief } from './starters/deep-research-and-decision-brief.js';
import { experimentAndReplicationProgram } from './starters/experiment-and-replication-program.js';
import { ideaToValidatedDemo } from './starters/idea-to-validated-demo.js';
import { incidentInvestigationAndRecovery } from './starters/incident-investigation-and-recovery.js';
import { migrationAndModernisation } from './starters/migration-and-modernisation.js';
import { productionFeatureDelivery } from './starters/production-feature-delivery.js';
import { securityAuditAndHardening } from './starters/security-audit-and-hardening.js';
import { solo } from './starters/solo.js';

/** Workflows that every farm has from its first start. A Task that names none runs on `solo`. They name no provider: the farm does. */
export const starters: readonly WorkflowDocument[] = [
  solo,
  productionFeatureDelivery,
  incidentInvestigationAndRecovery,
  migrationAndModernisation,
  deepResearchAndDecisionBrief,
  decisionThroughCompetingPrototypes,
  ideaToValidatedDemo,
  experimentAndReplicationProgram,
  securityAuditAndHardening,
].map((document) => WorkflowDocument.parse(document));

/**
 * Published only under a name that this farm never had: one that people changed stays theirs, and one that they removed stays away.
 * Of two controllers that start at once, the second waits at the row of the first.
 */
export async function insertStarters(tx: Transaction): Promise<void> {
  for (const starter of starters) {
    const isNew = await tx.first(workflowSql.ensure, { id: starter.id });
    if (isNew) await publishWorkflow(tx, starter, 'starter');
  }
}
