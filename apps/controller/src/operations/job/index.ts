import type { Operation } from '#gate';
import type { Services } from '../../farm.js';
import { jobClaimOperation } from './job-claim.js';
import { jobCompleteOperation } from './job-complete.js';
import { jobFailOperation } from './job-fail.js';
import { jobHeartbeatOperation } from './job-heartbeat.js';

/** What a worker asks for its jobs. */
export const jobOperations: readonly Operation<Services>[] = [
  jobClaimOperation,
  jobHeartbeatOperation,
  jobCompleteOperation,
  jobFailOperation,
];
