import { commandRunOutputRead } from '#contracts';
import { operation } from '../../operation.js';

export const commandRunOutputReadOperation = operation(
  commandRunOutputRead,
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  {
    prepare: (input, { services }) => services.teams.commands.readOutput(input),
    run: async (_, page) => page,
  },
);
