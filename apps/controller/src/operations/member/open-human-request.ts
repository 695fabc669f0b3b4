import { openHumanRequest } from '#contracts';
import { operation } from '../../operation.js';
import { memberAccess, memberOf } from './member-caller.js';

export const openHumanRequestOperation = operation(openHumanRequest, memberAccess, {
  run: (input, _, call, tx) => call.services.teams.members.askHuman(tx, memberOf(call), input),
});
