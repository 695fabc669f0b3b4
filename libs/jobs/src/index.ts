export { queueMigration } from './migrations/0003-queue.js';
