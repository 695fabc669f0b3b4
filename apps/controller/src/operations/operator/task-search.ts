import { taskSearch } from '#contracts';
import { operation } from '../../operation.js';

export const taskSearchOperation = operation(
  taskSearch,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  { run: (input, _, { services }, tx) => services.teams.tasks.search(tx, input) },
);
