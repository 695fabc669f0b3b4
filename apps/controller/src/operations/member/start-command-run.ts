import { startCommandRun } from '#contracts';
import { operation } from '../../operation.js';
import { memberAccess, memberOf } from './member-caller.js';

export const startCommandRunOperation = operation(startCommandRun, memberAccess, {
  run: (input, _, call, tx) => call.services.teams.members.startCommand(tx, memberOf(call), input),
});
