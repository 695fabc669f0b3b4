import { repoRemove } from '#contracts';
import { operation } from '../../operation.js';

/** The credential is gone with it: a person says that it is meant. */
export const repoRemoveOperation = operation(
  repoRemove,
  { catalogue: 'admin', class: 'mutate', ceiling: 'never', consent: 'ask' },
  {
    lock: ({ name }, { services }, tx) => services.teams.repositories.lock(tx, name),
    preview: ({ name }, { services }, tx) => services.teams.repositories.previewRemoval(tx, name),
    async run({ name }, _, { services }, tx) {
      await services.teams.repositories.remove(tx, name);
      return { name, removed: true as const };
    },
  },
);
