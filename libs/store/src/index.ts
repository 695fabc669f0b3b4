export { type Bell, openBell, silentBell } from './bell/bell.js';
export { mintNatsUser } from './bell/mint.js';
export { type Database, openDatabase, type Queries, type Transaction } from './database.js';
export { beginGeneration, type FarmFacts, readFarm, tickFarmClock } from './farm-clock.js';
export { type Migration, migrate } from './migrate.js';
export { clockMigration } from './migrations/0001-clock.js';
export { type Objects, openObjects, type PutAnswer } from './objects.js';
export { claimReceipt, forgetReceipts, keepReply, type Receipt, type ReceiptKey, readReceipt } from './receipts.js';
export { type Parameters, type Statement, statement } from './statement.js';
