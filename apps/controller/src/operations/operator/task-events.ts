import { taskEvents } from '#contracts';
import { operation } from '../../operation.js';

export const taskEventsOperation = operation(
  taskEvents,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  {
    run: (input, _, { services }, tx) => services.teams.tasks.events(tx, input),

    /** Between two looks it holds no connection. */
    waits(input, { events, status }, { services, signal, startedAt }) {
      const left = input.wait_seconds * 1000 - (performance.now() - startedAt);
      if (events.length > 0 || left <= 0 || signal.aborted || status === 'completed' || status === 'cancelled')
        return undefined;
      return () => services.teams.tasks.waitForNews({ ...input, wait_seconds: left / 1000 }, signal);
    },
  },
);
