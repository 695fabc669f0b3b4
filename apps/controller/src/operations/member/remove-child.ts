import { removeChild } from '#contracts';
import { operation } from '../../operation.js';
import { memberOf } from './member-caller.js';

export const removeChildOperation = operation(
  removeChild,
  { catalogue: 'member', class: 'protocol', ceiling: 'on', audit: 'always' },
  { run: (input, _, call, tx) => call.services.teams.members.removeChild(tx, memberOf(call), input) },
);
