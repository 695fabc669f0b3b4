import { workflowDraftCreate } from '#contracts';
import { operation } from '../../operation.js';

export const workflowDraftCreateOperation = operation(
  workflowDraftCreate,
  { catalogue: 'operator', class: 'mutate', ceiling: 'off', consent: 'implied', destructive: false, idempotent: true },
  {
    lock: (input, { services }, tx) => services.teams.drafts.lockBeginning(tx, input),
    preview: (input, { services }, tx) => services.teams.drafts.previewBeginning(tx, input),
    run: (input, _, { services }, tx) => services.teams.drafts.begin(tx, input),
  },
);
