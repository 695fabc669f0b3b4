import { getCurrentContext } from '#contracts';
import { operation } from '../../operation.js';
import { memberOf } from './member-caller.js';

export const getCurrentContextOperation = operation(
  getCurrentContext,
  { catalogue: 'member', class: 'protocol', ceiling: 'on', audit: 'always' },
  { run: (_input, _, call, tx) => call.services.teams.members.context(tx, memberOf(call)) },
);
