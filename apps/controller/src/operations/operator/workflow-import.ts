import { workflowImport } from '#contracts';
import { operation } from '../../operation.js';

export const workflowImportOperation = operation(
  workflowImport,
  { catalogue: 'operator', class: 'mutate', ceiling: 'on', consent: 'implied', destructive: false, idempotent: true },
  {
    preview: async () => ({
      summary: 'Checks the workflow document and publishes it if it holds',
      changes: [{ id: 'workflow', before: null, after: { published: true } }],
    }),
    run: (input, _, { services }, tx) => services.teams.workflows.import(tx, input),
  },
);
