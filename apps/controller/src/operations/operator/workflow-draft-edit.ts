import { workflowDraftEdit } from '#contracts';
import { operation } from '../../operation.js';

export const workflowDraftEditOperation = operation(
  workflowDraftEdit,
  { catalogue: 'operator', class: 'mutate', ceiling: 'off', consent: 'implied', destructive: false },
  {
    lock: ({ draft_id }, { services }, tx) => services.teams.drafts.lock(tx, draft_id),
    preview: (input, { services }, tx) => services.teams.drafts.previewEdit(tx, input),
    run: (input, _, { services }, tx) => services.teams.drafts.edit(tx, input),
  },
);
