export type { Actor, MemberCaller, PreparedView, Teams } from './api.js';
export { type DispatchEnd, dispatchEnds, handoverEnds } from './dispatch/ends.js';
export { teamsMigration } from './migrations/0004-teams.js';
export { repositoriesMigration } from './migrations/0005-repositories.js';
export { commandRunsMigration } from './migrations/0007-command-runs.js';
export { openTeams } from './open-teams.js';
export type { TeamParts } from './parts.js';
export type { FileToSend, LeaseShown, Roads } from './roads/roads.js';
export type { SourceRules, Vault } from './source/source-rules.js';
