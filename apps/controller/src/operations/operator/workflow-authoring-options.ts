import { workflowAuthoringOptions } from '#contracts';
import { operation } from '../../operation.js';

export const workflowAuthoringOptionsOperation = operation(
  workflowAuthoringOptions,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  { run: (_, __, { services }, tx) => services.teams.workflows.options(tx) },
);
