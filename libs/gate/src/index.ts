export { identityMigration } from './migrations/0002-identity.js';
