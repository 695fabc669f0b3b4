import { setWorkPlan } from '#contracts';
import { operation } from '../../operation.js';
import { memberAccess, memberOf } from './member-caller.js';

export const setWorkPlanOperation = operation(setWorkPlan, memberAccess, {
  run: (input, _, call, tx) => call.services.teams.members.setPlan(tx, memberOf(call), input),
});
