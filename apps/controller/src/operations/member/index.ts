import type { Operation } from '#gate';
import type { Services } from '../../farm.js';
import { addChildOperation } from './add-child.js';
import { checkpointOperation } from './checkpoint.js';
import { delegateOperation } from './delegate.js';
import { getCurrentContextOperation } from './get-current-context.js';
import { openHumanRequestOperation } from './open-human-request.js';
import { removeChildOperation } from './remove-child.js';
import { setWorkPlanOperation } from './set-work-plan.js';
import { startCommandRunOperation } from './start-command-run.js';
import { updateChildOperation } from './update-child.js';

/** What a member may call while it holds a Dispatch. */
export const memberOperations: readonly Operation<Services>[] = [
  getCurrentContextOperation,
  setWorkPlanOperation,
  checkpointOperation,
  delegateOperation,
  addChildOperation,
  updateChildOperation,
  removeChildOperation,
  openHumanRequestOperation,
  startCommandRunOperation,
];
