import { commandRunCancel } from '#contracts';
import { operation } from '../../operation.js';

/** What a command did so far can not be taken back, nor can it go on: a person says that it is meant. */
export const commandRunCancelOperation = operation(
  commandRunCancel,
  { catalogue: 'operator', class: 'mutate', ceiling: 'on', consent: 'ask' },
  {
    preview: (input, { services }, tx) => services.teams.commands.previewCancel(tx, input),
    run: (input, _, { services, principal }, tx) =>
      services.teams.commands.cancel(tx, { principal: principal.id }, input),
  },
);
