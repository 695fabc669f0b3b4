export type { Actor, MemberCaller, PreparedView, Teams } from './api.js';
export { teamsMigration } from './migrations/0004-teams.js';
export type { TeamParts } from './parts.js';
export type { FileToSend, LeaseShown, Roads } from './roads/roads.js';
