import { FarmError } from '#contracts';
import { type PersonPrincipal, type Principal, requirePerson } from '#gate';

/** Their ceiling is never: whoever gets here is a person or a service token of one. */
export function personOf(principal: Principal): PersonPrincipal {
  if (principal.kind !== 'person') throw new FarmError('not_available');
  return principal;
}

/** What makes another way in, or opens one wider, is not for service tokens: it would outlive a stolen one. Errors: FarmError not_allowed. */
export function onlyPerson(principal: Principal): PersonPrincipal {
  const person = personOf(principal);
  requirePerson(person);
  return person;
}
