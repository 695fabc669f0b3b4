import { taskMemberSteer } from '#contracts';
import { operation } from '../../operation.js';

/** The person's words are the intent: nothing more is to be confirmed. */
export const taskMemberSteerOperation = operation(
  taskMemberSteer,
  { catalogue: 'operator', class: 'mutate', ceiling: 'off', consent: 'implied', destructive: false, idempotent: true },
  {
    lock: ({ task_id }, { services }, tx) => services.teams.tasks.lock(tx, task_id),
    preview: (input, { services }, tx) => services.teams.tasks.previewSteer(tx, input),
    run: (input, _, { services, principal }, tx) => services.teams.tasks.steer(tx, { principal: principal.id }, input),
    follow: (input, { services, signal }) => services.teams.tasks.followSteer(input, signal),
  },
);
