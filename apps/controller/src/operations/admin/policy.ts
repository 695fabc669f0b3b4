import { policySet, policyShow } from '#contracts';
import { operation } from '../../operation.js';

export const policyShowOperation = operation(
  policyShow,
  { catalogue: 'admin', class: 'read', ceiling: 'never' },
  {
    run: (_input, _, { services }, tx) => services.teams.policy.show(tx),
  },
);

/** Whoever could widen it could ask for anything: no agent ever can. */
export const policySetOperation = operation(
  policySet,
  { catalogue: 'admin', class: 'mutate', ceiling: 'never' },
  {
    preview: (policy, { services }, tx) => services.teams.policy.preview(tx, policy),
    run: (policy, _, { services, principal }, tx) => services.teams.policy.set(tx, principal.id, policy),
  },
);
