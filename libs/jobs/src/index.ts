export { controllerPool } from './controller-pool.js';
export type { Beat, Claimer, Holder, JobEnd, JobRow, LeaseFence, Machine, NewJob, Ring, SignalOutcome } from './job.js';
export type { JobFailure, Kind, LossReason, Next } from './kind.js';
export { queueMigration } from './migrations/0003-queue.js';
export { leaseCountMigration } from './migrations/0009-lease-count.js';
export { lanesMigration } from './migrations/0026-lanes.js';
export { openQueue } from './open-queue.js';
export type {
  AccountState,
  ClaimRequest,
  LeaseToken,
  ListFilter,
  PastLease,
  PreparedCompletion,
  Queue,
  QueueOptions,
  Stranded,
  Swept,
} from './queue.js';
