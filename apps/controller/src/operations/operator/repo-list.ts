import { repoList } from '#contracts';
import { operation } from '../../operation.js';

export const repoListOperation = operation(
  repoList,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  { run: (input, _, { services }, tx) => services.teams.repositories.list(tx, input) },
);
