import { checkpoint } from '#contracts';
import { operation } from '../../operation.js';
import { memberAccess, memberOf } from './member-caller.js';

export const checkpointOperation = operation(checkpoint, memberAccess, {
  run: (input, _, call, tx) => call.services.teams.members.checkpoint(tx, memberOf(call), input),
});
