import { checkpoint } from '#contracts';
import { operation } from '../../operation.js';
import { memberOf } from './member-caller.js';

export const checkpointOperation = operation(
  checkpoint,
  { catalogue: 'member', class: 'protocol', ceiling: 'on', audit: 'always' },
  { run: (input, _, call, tx) => call.services.teams.members.checkpoint(tx, memberOf(call), input) },
);
