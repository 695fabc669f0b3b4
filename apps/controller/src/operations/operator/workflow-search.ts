import { workflowSearch } from '#contracts';
import { operation } from '../../operation.js';

export const workflowSearchOperation = operation(
  workflowSearch,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  { run: (input, _, { services }, tx) => services.teams.workflows.search(tx, input) },
);
