import { addChild } from '#contracts';
import { operation } from '../../operation.js';
import { memberAccess, memberOf } from './member-caller.js';

export const addChildOperation = operation(addChild, memberAccess, {
  run: (input, _, call, tx) => call.services.teams.members.addChild(tx, memberOf(call), input),
});
