import { updateChild } from '#contracts';
import { operation } from '../../operation.js';
import { memberAccess, memberOf } from './member-caller.js';

export const updateChildOperation = operation(updateChild, memberAccess, {
  run: (input, _, call, tx) => call.services.teams.members.updateChild(tx, memberOf(call), input),
});
