import { serviceTokenCreate, serviceTokenList, serviceTokenRevoke } from '#contracts';
import { operation } from '../../operation.js';
import { personOf } from './person-of.js';

export const serviceTokenListOperation = operation(
  serviceTokenList,
  { catalogue: 'admin', class: 'read', ceiling: 'never', role: 'viewer' },
  {
    async run(_input, _, { services, principal }, tx) {
      return { tokens: await services.identity.people.services.list(tx, personOf(principal)) };
    },
  },
);

/** The token is shown once: no receipt keeps it (H41). It can do no more than who makes it. */
export const serviceTokenCreateOperation = operation(
  serviceTokenCreate,
  { catalogue: 'admin', class: 'mutate', ceiling: 'never', role: 'viewer', consent: 'implied', answer: 'secret' },
  {
    run: ({ name, role, audience, expires_in_days }, _, { services, principal }, tx) =>
      services.identity.people.services.create(tx, personOf(principal), {
        name,
        role,
        audience,
        days: expires_in_days,
      }),
  },
);

/** What should be ended is ended at once. */
export const serviceTokenRevokeOperation = operation(
  serviceTokenRevoke,
  { catalogue: 'admin', class: 'mutate', ceiling: 'never', role: 'viewer', consent: 'implied' },
  {
    run: ({ token_id }, _, { services, principal }, tx) =>
      services.identity.people.services.revoke(tx, token_id, personOf(principal)),
  },
);
