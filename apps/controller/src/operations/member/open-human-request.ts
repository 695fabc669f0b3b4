import { openHumanRequest } from '#contracts';
import { operation } from '../../operation.js';
import { memberOf } from './member-caller.js';

export const openHumanRequestOperation = operation(
  openHumanRequest,
  { catalogue: 'member', class: 'protocol', ceiling: 'on', audit: 'always' },
  { run: (input, _, call, tx) => call.services.teams.members.askHuman(tx, memberOf(call), input) },
);
