import { pluginList } from '#contracts';
import { operation } from '../../operation.js';

/** Each controller has processes of its own: another one may tell otherwise for a moment. */
export const pluginListOperation = operation(
  pluginList,
  { catalogue: 'admin', class: 'read', ceiling: 'never' },
  {
    async run(_input, _, { services }) {
      const plugins = services.plugins.list();
      return {
        plugins: plugins.map(({ operations, since, ...plugin }) => ({
          ...plugin,
          operations: [...operations],
          since: since.toISOString(),
        })),
      };
    },
  },
);
