import { addChild } from '#contracts';
import { operation } from '../../operation.js';
import { memberOf } from './member-caller.js';

export const addChildOperation = operation(
  addChild,
  { catalogue: 'member', class: 'protocol', ceiling: 'on', audit: 'always' },
  { run: (input, _, call, tx) => call.services.teams.members.addChild(tx, memberOf(call), input) },
);
