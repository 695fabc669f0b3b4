import { taskDiff } from '#contracts';
import { operation } from '../../operation.js';

export const taskDiffOperation = operation(
  taskDiff,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  {
    prepare: (input, { services }) => services.teams.out.diff(input),
    run: async (_, shown) => shown,
  },
);
