import { removeChild } from '#contracts';
import { operation } from '../../operation.js';
import { memberAccess, memberOf } from './member-caller.js';

export const removeChildOperation = operation(removeChild, memberAccess, {
  run: (input, _, call, tx) => call.services.teams.members.removeChild(tx, memberOf(call), input),
});
