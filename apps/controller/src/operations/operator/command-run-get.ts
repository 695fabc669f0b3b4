import { commandRunGet } from '#contracts';
import { operation } from '../../operation.js';

export const commandRunGetOperation = operation(
  commandRunGet,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  { run: (input, _, { services }, tx) => services.teams.commands.get(tx, input) },
);
