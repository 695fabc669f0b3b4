import { workflowDraftUndo } from '#contracts';
import { operation } from '../../operation.js';

export const workflowDraftUndoOperation = operation(
  workflowDraftUndo,
  { catalogue: 'operator', class: 'mutate', ceiling: 'off', consent: 'implied' },
  {
    lock: ({ draft_id }, { services }, tx) => services.teams.drafts.lock(tx, draft_id),
    preview: (input, { services }, tx) => services.teams.drafts.previewUndo(tx, input),
    run: (input, _, { services }, tx) => services.teams.drafts.undo(tx, input),
  },
);
