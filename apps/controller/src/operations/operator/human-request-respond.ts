import { humanRequestRespond } from '#contracts';
import { operation } from '../../operation.js';

/** The person's words are the intent: nothing more is to be confirmed. */
export const humanRequestRespondOperation = operation(
  humanRequestRespond,
  { catalogue: 'operator', class: 'mutate', ceiling: 'off', consent: 'implied' },
  {
    preview: (input, { services }, tx) => services.teams.requests.previewResponse(tx, input),
    run: (input, _, { services, principal }, tx) =>
      services.teams.requests.respond(tx, { principal: principal.id }, input),
  },
);
