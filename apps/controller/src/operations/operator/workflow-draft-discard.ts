import { workflowDraftDiscard } from '#contracts';
import { operation } from '../../operation.js';

export const workflowDraftDiscardOperation = operation(
  workflowDraftDiscard,
  { catalogue: 'operator', class: 'mutate', ceiling: 'off', consent: 'implied' },
  {
    lock: ({ draft_id }, { services }, tx) => services.teams.drafts.lock(tx, draft_id),
    preview: (input, { services }, tx) => services.teams.drafts.previewDiscard(tx, input),
    run: (input, _, { services }, tx) => services.teams.drafts.discard(tx, input),
  },
);
