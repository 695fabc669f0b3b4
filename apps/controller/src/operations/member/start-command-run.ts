import { startCommandRun } from '#contracts';
import { operation } from '../../operation.js';
import { memberOf } from './member-caller.js';

export const startCommandRunOperation = operation(
  startCommandRun,
  { catalogue: 'member', class: 'protocol', ceiling: 'on', audit: 'always' },
  { run: (input, _, call, tx) => call.services.teams.members.startCommand(tx, memberOf(call), input) },
);
