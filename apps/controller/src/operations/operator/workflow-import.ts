import { workflowImport } from '#contracts';
import { operation } from '../../operation.js';

export const workflowImportOperation = operation(
  workflowImport,
  { catalogue: 'operator', class: 'mutate', ceiling: 'on', consent: 'implied', destructive: false, idempotent: true },
  {
    lock: (input, { services }, tx) => services.teams.workflows.lockImport(tx, input),
    preview: (input, { services }, tx) => services.teams.workflows.previewImport(tx, input),
    run: (input, _, { services }, tx) => services.teams.workflows.import(tx, input),
  },
);
