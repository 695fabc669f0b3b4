import { sessionList, sessionRevoke, whoami } from '#contracts';
import type { PersonPrincipal } from '#gate';
import { operation } from '../../operation.js';
import { personOf } from './person-of.js';

export const whoamiOperation = operation(
  whoami,
  { catalogue: 'admin', class: 'read', ceiling: 'never', role: 'viewer' },
  {
    async run(_input, _, { services, principal, door }) {
      const person = personOf(principal);
      const { id, name, role } = person;
      return { id, name, role, by: wayOf(person), door, farm_id: services.farmId };
    },
  },
);

export const sessionListOperation = operation(
  sessionList,
  { catalogue: 'admin', class: 'read', ceiling: 'never', role: 'viewer' },
  {
    async run(_input, _, { services, principal }, tx) {
      return { sessions: await services.identity.people.sessions.list(tx, personOf(principal)) };
    },
  },
);

/** One's own, and nothing is lost by logging in again. */
export const sessionRevokeOperation = operation(
  sessionRevoke,
  { catalogue: 'admin', class: 'mutate', ceiling: 'never', role: 'viewer', consent: 'implied' },
  {
    async run({ session_id }, _, { services, principal }, tx) {
      await services.identity.people.sessions.end(tx, session_id, personOf(principal).id);
      return { session_id, ended: true as const };
    },
  },
);

function wayOf({ session, service }: PersonPrincipal): 'key' | 'session' | 'service_token' {
  if (service) return 'service_token';
  return session === undefined ? 'key' : 'session';
}
