import { taskPush } from '#contracts';
import { operation } from '../../operation.js';

/**
 * A person who says push means it; what a CI system would run waits for a person who has seen it (H39). All of it is done in
 * `prepare`, which may be done again: the effect has a row and a key of its own (A12.22).
 */
export const taskPushOperation = operation(
  taskPush,
  { catalogue: 'operator', class: 'mutate', ceiling: 'on', consent: 'implied' },
  {
    prepare: (input, { services, principal, signal }) =>
      services.teams.out.push({ principal: principal.id, isPerson: principal.kind === 'person' }, input, signal),
    preview: async ({ task_id, pull_request }) => ({
      summary: `Pushes the branch of ${task_id} to its origin${pull_request ? ' and opens a pull request' : ''}`,
      changes: [{ id: task_id, before: null, after: { pushed: true } }],
    }),
    run: async (_, answer) => answer,
  },
);
