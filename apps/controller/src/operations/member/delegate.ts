import { delegate } from '#contracts';
import { operation } from '../../operation.js';
import { memberOf } from './member-caller.js';

export const delegateOperation = operation(
  delegate,
  { catalogue: 'member', class: 'protocol', ceiling: 'on', audit: 'always' },
  { run: (input, _, call, tx) => call.services.teams.members.delegate(tx, memberOf(call), input) },
);
