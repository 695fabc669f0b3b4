import {
  accessMigration,
  auditSealMigration,
  deviceNetworksMigration,
  gateConsentMigration,
  identityMigration,
  personsMigration,
  workerRefusesMigration,
} from '#gate';
import { lanesMigration, leaseCountMigration, queueMigration } from '#jobs';
import { clockMigration, type Migration } from '#store';
import {
  commandRunsMigration,
  memberRunsMigration,
  outputStoredMigration,
  policyMigration,
  pushesMigration,
  repositoriesMigration,
  steersMigration,
  teamsMigration,
  teamWorkMigration,
  usageMigration,
  webhooksMigration,
  workflowDraftsMigration,
} from '#teams';

/** The whole schema, step by step. */
export const migrations: readonly Migration[] = [
  clockMigration,
  identityMigration,
  queueMigration,
  teamsMigration,
  repositoriesMigration,
  usageMigration,
  commandRunsMigration,
  pushesMigration,
  leaseCountMigration,
  workerRefusesMigration,
  accessMigration,
  gateConsentMigration,
  policyMigration,
  personsMigration,
  auditSealMigration,
  memberRunsMigration,
  workflowDraftsMigration,
  steersMigration,
  teamWorkMigration,
  lanesMigration,
  deviceNetworksMigration,
  webhooksMigration,
  outputStoredMigration,
];
