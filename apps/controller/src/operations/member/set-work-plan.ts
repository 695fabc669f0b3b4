import { setWorkPlan } from '#contracts';
import { operation } from '../../operation.js';
import { memberOf } from './member-caller.js';

export const setWorkPlanOperation = operation(
  setWorkPlan,
  { catalogue: 'member', class: 'protocol', ceiling: 'on', audit: 'always' },
  { run: (input, _, call, tx) => call.services.teams.members.setPlan(tx, memberOf(call), input) },
);
