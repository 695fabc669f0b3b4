import { updateChild } from '#contracts';
import { operation } from '../../operation.js';
import { memberOf } from './member-caller.js';

export const updateChildOperation = operation(
  updateChild,
  { catalogue: 'member', class: 'protocol', ceiling: 'on', audit: 'always' },
  { run: (input, _, call, tx) => call.services.teams.members.updateChild(tx, memberOf(call), input) },
);
