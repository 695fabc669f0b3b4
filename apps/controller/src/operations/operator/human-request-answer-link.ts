import { humanRequestAnswerLink } from '#contracts';
import { operation } from '../../operation.js';

/**
 * The page behind a link calls it: for a person who has logged in there, or by itself for whoever holds the link (H44). The rule
 * says what such a one may not answer.
 */
export const humanRequestAnswerLinkOperation = operation(
  humanRequestAnswerLink,
  { catalogue: 'operator', class: 'mutate', ceiling: 'never', consent: 'implied', internal: true },
  {
    run: (input, _, { services, principal }, tx) =>
      services.teams.requests.answerByLink(tx, { person: principal.kind === 'person' ? principal.id : null }, input),
  },
);
