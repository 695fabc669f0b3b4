import { taskControl } from '#contracts';
import { operation } from '../../operation.js';

/** A cancel can not be taken back: a person says that it is meant. */
export const taskControlOperation = operation(
  taskControl,
  { catalogue: 'operator', class: 'mutate', ceiling: 'on', consent: 'ask' },
  {
    lock: ({ task_id }, { services }, tx) => services.teams.tasks.lock(tx, task_id),
    preview: (input, { services }, tx) => services.teams.tasks.previewControl(tx, input),
    run: (input, _, { services, principal }, tx) =>
      services.teams.tasks.control(tx, { principal: principal.id }, input),
  },
);
