import { taskGet } from '#contracts';
import { operation } from '../../operation.js';

export const taskGetOperation = operation(
  taskGet,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  {
    prepare: ({ task_id }, { services }) => services.teams.tasks.prepareView(task_id),
    run: (input, prepared, { services }, tx) => services.teams.tasks.get(tx, input, prepared),
  },
);
