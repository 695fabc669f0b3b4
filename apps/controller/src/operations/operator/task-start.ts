import { taskStart } from '#contracts';
import { operation } from '../../operation.js';

/** Idempotent by the key of the call (O12, P5): the gate keeps its receipt in the same transaction. */
export const taskStartOperation = operation(
  taskStart,
  { catalogue: 'operator', class: 'mutate', ceiling: 'on', consent: 'implied', destructive: false },
  {
    lock: ({ workflow_id }, { services }, tx) => services.teams.workflows.lock(tx, workflow_id),
    preview: (input, { services }, tx) => services.teams.tasks.previewStart(tx, input),
    prepare: (input, { services, principal }) => services.teams.tasks.prepareStart({ principal: principal.id }, input),
    run: (input, warned, { services, principal }, tx) =>
      services.teams.tasks.start(tx, { principal: principal.id }, input, warned),
  },
);
