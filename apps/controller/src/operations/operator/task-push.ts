import { taskPush } from '#contracts';
import { type Call, callerOf } from '#gate';
import type { Services } from '../../farm.js';
import { operation } from '../../operation.js';

/**
 * A person who says push means it; what a CI system would run waits for a person who has seen it (H39). All of it is done in
 * `prepare`, which may be done again: the effect has a row and a key of its own (A12.22).
 */
export const taskPushOperation = operation(
  taskPush,
  { catalogue: 'operator', class: 'mutate', ceiling: 'on', consent: 'implied' },
  {
    prepare: (input, call) => call.services.teams.out.push(pusherOf(call), input, call.signal),
    actsInPrepare: true,
    lock: ({ task_id }, { services }, tx) => services.teams.tasks.lock(tx, task_id),
    preview: (input, { services }, tx) => services.teams.out.previewPush(tx, input),
    run: async (_, answer) => answer,
  },
);

/** A person at a door of people: neither their assistant nor a service token approves anything (A1.4, H39). */
function pusherOf({ principal, door }: Call<Services>) {
  const isPerson = callerOf(principal, door).class === 'user' && principal.kind === 'person' && !principal.service;
  return { principal: principal.id, isPerson };
}
