export { DefinitionError, type DefinitionFault } from './definition/definition-error.js';
export { identityMigration } from './migrations/0002-identity.js';
export {
  type Access,
  type Call,
  type Catalogue,
  type Ceiling,
  type Operation,
  type OperationClass,
  operationFor,
  type Preview,
  type Rule,
} from './operation.js';
export type {
  AgentPrincipal,
  Door,
  JobClaims,
  PersonPrincipal,
  PersonRole,
  Principal,
  WorkerPrincipal,
} from './principal.js';
