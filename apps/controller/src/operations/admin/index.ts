import type { Operation } from '#gate';
import type { Services } from '../../farm.js';
import { accountListOperation, accountResumeOperation } from './accounts.js';
import {
  agentCreateOperation,
  agentDisableOperation,
  agentEnableOperation,
  agentListOperation,
  agentRevokeOperation,
  agentRotateOperation,
} from './agents.js';
import { approvalDecideOperation, approvalListOperation } from './approvals.js';
import { auditListOperation, auditVerifyOperation } from './audit.js';
import { configShowOperation } from './configuration.js';
import { exposureListOperation, exposureSetOperation } from './exposure.js';
import { grantAddOperation, grantListOperation, grantRevokeOperation } from './grants.js';
import { keyListOperation, keyRotateOperation } from './keys.js';
import {
  personCreateOperation,
  personDisableOperation,
  personEnableOperation,
  personListOperation,
  personResetPasswordOperation,
  personSetRoleOperation,
} from './persons.js';
import { pluginListOperation } from './plugins.js';
import { policySetOperation, policyShowOperation } from './policy.js';
import {
  jobSubmitOperation,
  queueCancelOperation,
  queueListOperation,
  queueRedriveOperation,
  queueRequeueOperation,
  quotaSetOperation,
} from './queue.js';
import {
  serviceTokenCreateOperation,
  serviceTokenListOperation,
  serviceTokenRevokeOperation,
} from './service-tokens.js';
import { sessionListOperation, sessionRevokeOperation, whoamiOperation } from './sessions.js';
import { statusOperation } from './status.js';
import { webhookAddOperation, webhookListOperation, webhookRemoveOperation, webhookTestOperation } from './webhooks.js';
import {
  workerDrainOperation,
  workerInviteOperation,
  workerListOperation,
  workerPauseOperation,
  workerResumeOperation,
} from './workers.js';

/** People and what lets them in, machines, the queue, the farm at a glance. */
export const adminOperations: readonly Operation<Services>[] = [
  statusOperation,
  workerListOperation,
  workerPauseOperation,
  workerResumeOperation,
  workerDrainOperation,
  workerInviteOperation,
  queueListOperation,
  queueRequeueOperation,
  queueCancelOperation,
  queueRedriveOperation,
  jobSubmitOperation,
  quotaSetOperation,
  accountListOperation,
  accountResumeOperation,
  configShowOperation,
  approvalListOperation,
  approvalDecideOperation,
  policyShowOperation,
  policySetOperation,
  auditListOperation,
  auditVerifyOperation,
  pluginListOperation,
  whoamiOperation,
  personListOperation,
  personCreateOperation,
  personSetRoleOperation,
  personDisableOperation,
  personEnableOperation,
  personResetPasswordOperation,
  sessionListOperation,
  sessionRevokeOperation,
  serviceTokenListOperation,
  serviceTokenCreateOperation,
  serviceTokenRevokeOperation,
  keyListOperation,
  keyRotateOperation,
  agentCreateOperation,
  agentListOperation,
  agentDisableOperation,
  agentEnableOperation,
  agentRevokeOperation,
  agentRotateOperation,
  grantAddOperation,
  grantListOperation,
  grantRevokeOperation,
  exposureSetOperation,
  exposureListOperation,
  webhookAddOperation,
  webhookListOperation,
  webhookRemoveOperation,
  webhookTestOperation,
];
