import {
  loginPaths,
  personCreate,
  personDisable,
  personEnable,
  personList,
  personResetPassword,
  personSetRole,
} from '#contracts';
import type { Access } from '#gate';
import type { Services } from '../../farm.js';
import { operation } from '../../operation.js';
import { onlyPerson } from './person-of.js';

const ruling: Access = { catalogue: 'admin', class: 'mutate', ceiling: 'never' };

export const personListOperation = operation(
  personList,
  { catalogue: 'admin', class: 'read', ceiling: 'never' },
  {
    async run(_input, _, { services }, tx) {
      return { persons: await services.identity.people.persons.list(tx) };
    },
  },
);

/** The setup password is shown once: no receipt keeps it (H41). */
export const personCreateOperation = operation(
  personCreate,
  { ...ruling, consent: 'implied', answer: 'secret' },
  {
    async run({ name, role }, _, { services, principal }, tx) {
      onlyPerson(principal);
      return { ...(await services.identity.people.persons.create(tx, name, role)), login: loginAddress(services) };
    },
  },
);

export const personResetPasswordOperation = operation(
  personResetPassword,
  { ...ruling, answer: 'secret' },
  {
    preview: ({ person }, { services }, tx) =>
      services.identity.people.persons.preview(tx, person, 'Resets the password and ends all sessions of', {
        password: 'setup',
        sessions: 0,
      }),
    async run({ person }, _, { services, principal }, tx) {
      onlyPerson(principal);
      return { ...(await services.identity.people.persons.resetPassword(tx, person)), login: loginAddress(services) };
    },
  },
);

export const personSetRoleOperation = operation(personSetRole, ruling, {
  preview: ({ person, role }, { services }, tx) =>
    services.identity.people.persons.preview(tx, person, 'Changes the role and ends all sessions of', {
      role,
      sessions: 0,
    }),
  async run({ person, role }, _, { services, principal }, tx) {
    onlyPerson(principal);
    return await services.identity.people.persons.setRole(tx, person, role);
  },
});

export const personDisableOperation = operation(personDisable, ruling, {
  preview: ({ person }, { services }, tx) =>
    services.identity.people.persons.preview(tx, person, 'Lets in no more, and ends all sessions of', {
      state: 'disabled',
      sessions: 0,
    }),
  async run({ person }, _, { services, principal }, tx) {
    onlyPerson(principal);
    return await services.identity.people.persons.disable(tx, person);
  },
});

export const personEnableOperation = operation(
  personEnable,
  { ...ruling, consent: 'implied' },
  {
    async run({ person }, _, { services, principal }, tx) {
      onlyPerson(principal);
      return await services.identity.people.persons.enable(tx, person);
    },
  },
);

function loginAddress({ address }: Services): string {
  return `${address.publicUrl ?? ''}${loginPaths.device}`;
}
