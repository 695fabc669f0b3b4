export type { AccessRows, Setting, SettingOwner, Settings } from './access/access-rows.js';
export { type AllowedFile, applyAllowed } from './access/allowed-rows.js';
export { decideApproval, forgetApprovals, listApprovals, previewDecision } from './access/approvals.js';
export { type Asker, type Exposure, exposureOf } from './access/exposure.js';
export { type GateRules, gateRules } from './access/gate-rules.js';
export { addGrant, checkTarget, type Grant, type GrantRow, listGrants, revokeGrant } from './access/grants.js';
export { type AccessSource, openAccess } from './access/open-access.js';
export {
  type ExposureChange,
  listExposure,
  previewExposure,
  setExposure,
} from './access/set-exposure.js';
export { AuditLog, sequenceOf } from './audit/audit-log.js';
export { FirstBeats } from './audit/first-beats.js';
export { DefinitionError, type DefinitionFault } from './definition/definition-error.js';
export type { JsonSchema } from './definition/json-schema.js';
export { cliPathOf, reservedFields } from './definition/names.js';
export { farmErrorOf } from './farm-error-of.js';
export { type Gate, type GateCall, openGate } from './gate.js';
export type { AgentCredential, AgentSecret, Agents, NewAgent } from './identity/agents.js';
export { ensureFirstPerson, type FirstAdmin } from './identity/first-person.js';
export { type Audience, type Authenticated, Identity, type MintNats } from './identity/identity.js';
export type { Invitation } from './identity/join-tickets.js';
export type { LoggedIn, LoginAttempt } from './identity/logins.js';
export { networkOf } from './identity/network-of.js';
export { requirePerson } from './identity/service-tokens.js';
export type { BrowserSession } from './identity/sessions.js';
export type { BeatAnswer, LiveWorker, Workers } from './identity/workers.js';
export { invalidInput } from './input-errors.js';
export { type FarmKeys, openFarmKeys } from './keys/farm-keys.js';
export { openVault } from './keys/vault.js';
export { type Counter, Metrics } from './metrics.js';
export { identityMigration } from './migrations/0002-identity.js';
export { workerRefusesMigration } from './migrations/0011-worker-refuses.js';
export { accessMigration } from './migrations/0012-access.js';
export { gateConsentMigration } from './migrations/0014-gate-consent.js';
export { personsMigration } from './migrations/0017-persons.js';
export { auditSealMigration } from './migrations/0019-audit-seal.js';
export { deviceNetworksMigration } from './migrations/0029-device-networks.js';
export { openApiOf } from './openapi.js';
export {
  type Access,
  type AuditedLease,
  type AuditNotes,
  type Call,
  type Catalogue,
  type Ceiling,
  type Operation,
  type OperationClass,
  operationFor,
  type Rule,
} from './operation.js';
export { LiveRegistry } from './plugins/live-registry.js';
export { PluginManifest, PluginName } from './plugins/manifest.js';
export { type PluginAsk, type PluginPort, pluginOperations } from './plugins/plugin-operations.js';
export {
  type AgentPrincipal,
  type CallerIdentity,
  callerOf,
  type Door,
  hasRole,
  type JobClaims,
  type PersonPrincipal,
  type PersonRole,
  type Principal,
  type SystemPrincipal,
  type WorkerPrincipal,
} from './principal.js';
export { type Registry, registryOf } from './registry.js';
export type { AuditedRow } from './sql/audit.js';
