import { workflowDraftValidate } from '#contracts';
import { operation } from '../../operation.js';

export const workflowDraftValidateOperation = operation(
  workflowDraftValidate,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  { run: (input, _, { services }, tx) => services.teams.drafts.validate(tx, input) },
);
