import { workflowRemove } from '#contracts';
import { operation } from '../../operation.js';

/** Its draft can not be had back: a person says that it is meant. */
export const workflowRemoveOperation = operation(
  workflowRemove,
  { catalogue: 'operator', class: 'mutate', ceiling: 'off', consent: 'ask' },
  {
    lock: ({ workflow_id }, { services }, tx) => services.teams.workflows.lock(tx, workflow_id),
    preview: (input, { services }, tx) => services.teams.workflows.previewRemoval(tx, input),
    run: (input, _, { services }, tx) => services.teams.workflows.remove(tx, input),
  },
);
