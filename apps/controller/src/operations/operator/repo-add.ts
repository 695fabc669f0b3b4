import { repoAdd } from '#contracts';
import type { Call } from '#gate';
import type { Services } from '../../farm.js';
import { operation } from '../../operation.js';

/** It takes a credential, so it is a person's alone, and an admin's: ceiling never (H30). */
export const repoAddOperation = operation(
  repoAdd,
  { catalogue: 'admin', class: 'mutate', ceiling: 'never', consent: 'implied' },
  {
    prepare: (input, call) => call.services.teams.repositories.prepareAdd(registrarOf(call), input),
    run: (input, url, call, tx) => call.services.teams.repositories.add(tx, registrarOf(call), input, url),
  },
);

function registrarOf({ principal, door }: Call<Services>) {
  const isAdmin = principal.kind === 'person' && principal.role === 'admin';
  return { principal: principal.id, mayNameFolders: door === 'cli' && isAdmin };
}
