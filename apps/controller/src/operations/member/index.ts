import type { Operation } from '#gate';
import type { Services } from '../../farm.js';
import { checkpointOperation } from './checkpoint.js';
import { getCurrentContextOperation } from './get-current-context.js';
import { setWorkPlanOperation } from './set-work-plan.js';

/** What a member may call while it holds a Dispatch. */
export const memberOperations: readonly Operation<Services>[] = [
  getCurrentContextOperation,
  setWorkPlanOperation,
  checkpointOperation,
];
