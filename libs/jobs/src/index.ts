export type { Beat, Claimer, Holder, JobEnd, JobRow, LeaseFence, NewJob, Ring } from './job.js';
export type { JobFailure, Kind, LossReason, Next } from './kind.js';
export { queueMigration } from './migrations/0003-queue.js';
export type {
  LeaseToken,
  ListFilter,
  PastLease,
  PreparedCompletion,
  Queue,
  QueueOptions,
  Stranded,
  Swept,
} from './queue.js';
