import { workflowGet } from '#contracts';
import { operation } from '../../operation.js';

export const workflowGetOperation = operation(
  workflowGet,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  { run: (input, _, { services }, tx) => services.teams.workflows.get(tx, input) },
);
