export { type Database, openDatabase, type Queries, type Transaction } from './database.js';
export { type Migration, migrate } from './migrate.js';
export { clockMigration } from './migrations/0001-clock.js';
export { type Parameters, type Statement, statement } from './statement.js';
