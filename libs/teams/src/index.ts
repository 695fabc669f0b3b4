export { teamsMigration } from './migrations/0004-teams.js';
