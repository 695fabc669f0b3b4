import { taskGet } from '#contracts';
import { operation } from '../../operation.js';

export const taskGetOperation = operation(
  taskGet,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  {
    prepare: (input, { services }) => services.teams.tasks.prepareView(input),
    run: (input, prepared, { services }, tx) => services.teams.tasks.get(tx, input, prepared),
  },
);
