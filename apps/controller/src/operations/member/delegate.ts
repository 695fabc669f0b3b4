import { delegate } from '#contracts';
import { operation } from '../../operation.js';
import { memberAccess, memberOf } from './member-caller.js';

export const delegateOperation = operation(delegate, memberAccess, {
  run: (input, _, call, tx) => call.services.teams.members.delegate(tx, memberOf(call), input),
});
