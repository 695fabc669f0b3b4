import { getCurrentContext } from '#contracts';
import { operation } from '../../operation.js';
import { memberAccess, memberOf } from './member-caller.js';

export const getCurrentContextOperation = operation(getCurrentContext, memberAccess, {
  run: (_input, _, call, tx) => call.services.teams.members.context(tx, memberOf(call)),
});
