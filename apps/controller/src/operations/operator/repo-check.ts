import { repoCheck } from '#contracts';
import { operation } from '../../operation.js';

/** Talks to the network and keeps the ssh keys of a first contact: no read. */
export const repoCheckOperation = operation(
  repoCheck,
  { catalogue: 'operator', class: 'mutate', ceiling: 'off', consent: 'implied', destructive: false, idempotent: true },
  {
    prepare: ({ name }, { services, signal }) => services.teams.repositories.prepareCheck(name, signal),
    preview: async () => ({ summary: 'Asks the origin of the repository whether it answers', changes: [] }),
    run: (_, asked, { services }, tx) => services.teams.repositories.check(tx, asked),
  },
);
