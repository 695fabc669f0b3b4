import { configShow } from '#contracts';
import { operation } from '../../operation.js';

/** Values and where each came from; of secrets only whether they are set. */
export const configShowOperation = operation(
  configShow,
  { catalogue: 'admin', class: 'read', ceiling: 'never' },
  {
    async run(_input, _, { services: { settings, warnings } }) {
      const { path, found, hash, generation, settings: shown } = settings.configuration;
      return {
        file: { path, found },
        hash,
        generation,
        settings: [...shown],
        allowed: { ...settings.mcp.allowed },
        warnings: [...warnings],
      };
    },
  },
);
