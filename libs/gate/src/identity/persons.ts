import { FarmError, limits, newPersonId, type PersonView, type Proposal } from '#contracts';
import type { Queries, Transaction } from '#store';
import type { PersonRole } from '../principal.js';
import { loginSql, type PersonListRow } from '../sql/login.js';
import { hashPassword, makePassword } from './passwords.js';

/** A person with a password that is shown once. */
export interface SetUp {
  readonly person_id: string;
  readonly name: string;
  readonly role: PersonRole;
  readonly setup_password: string;
  readonly expires_in_seconds: number;
}

/** The accounts of people. Whatever changes what one may do ends all their sessions. */
export const persons = {
  async list(queries: Queries): Promise<PersonView[]> {
    return (await queries.all(loginSql.persons)).map(viewOf);
  },

  /** Errors: FarmError conflict when the name is taken. */
  async create(tx: Transaction, name: string, role: PersonRole): Promise<SetUp> {
    const id = newPersonId();
    if (!(await tx.first(loginSql.createPerson, { id, name, role })))
      throw new FarmError('conflict', 'There is a person of this name', {
        hint: 'Take another name; `longshore person enable` lets a disabled person in again.',
      });
    return await setUp(tx, { id, name, role });
  },

  /** Errors: FarmError not_found. */
  async resetPassword(tx: Transaction, name: string): Promise<SetUp> {
    const person = await find(tx, name);
    await tx.run(loginSql.endSessions, { person: person.id });
    return await setUp(tx, person);
  },

  /** Errors: FarmError not_found; conflict for the last admin. */
  async setRole(tx: Transaction, name: string, role: PersonRole): Promise<PersonView> {
    await tx.run(loginSql.lockAdmins);
    const person = await find(tx, name);
    if (role !== 'admin') await keepAnAdmin(tx, person);
    if (role === person.role) return viewOf(person);
    await tx.run(loginSql.setRole, { person: person.id, role });
    await tx.run(loginSql.endSessions, { person: person.id });
    return viewOf(await find(tx, name));
  },

  /** Errors: FarmError not_found; conflict for the last admin. */
  async disable(tx: Transaction, name: string): Promise<PersonView> {
    await tx.run(loginSql.lockAdmins);
    const person = await find(tx, name);
    await keepAnAdmin(tx, person);
    await tx.run(loginSql.disable, { person: person.id });
    await tx.run(loginSql.endSessions, { person: person.id });
    return viewOf(await find(tx, name));
  },

  /** Errors: FarmError not_found. */
  async enable(tx: Transaction, name: string): Promise<PersonView> {
    const person = await find(tx, name);
    await tx.run(loginSql.enable, { person: person.id });
    return viewOf(await find(tx, name));
  },

  /** What would change. Errors: FarmError not_found. */
  async preview(
    queries: Queries,
    name: string,
    verb: string,
    after: Readonly<Record<string, unknown>>,
  ): Promise<Proposal> {
    const { id, sessions, role, disabled } = await find(queries, name);
    const before = { role, state: disabled ? 'disabled' : 'active', sessions };
    return { summary: `${verb} ${name}`, changes: [{ id, before, after: { ...before, ...after } }], count: 1 };
  },
};

async function setUp(tx: Transaction, person: { id: string; name: string; role: PersonRole }): Promise<SetUp> {
  const password = makePassword();
  const hash = await hashPassword(password);
  await tx.run(loginSql.setPassword, { person: person.id, hash, setup_seconds: limits.setupPasswordSeconds });
  return {
    person_id: person.id,
    name: person.name,
    role: person.role,
    setup_password: password,
    expires_in_seconds: limits.setupPasswordSeconds,
  };
}

async function find(queries: Queries, name: string): Promise<PersonListRow> {
  const person = await queries.first(loginSql.personNamed, { name });
  if (person) return person;
  throw new FarmError('not_found', 'There is no person of this name', {
    hint: '`longshore person list` shows who there is.',
  });
}

/** A farm without an admin could be ruled by nobody. */
async function keepAnAdmin(tx: Transaction, { id, role, disabled }: PersonListRow): Promise<void> {
  if (role !== 'admin' || disabled) return;
  if (await tx.first(loginSql.otherAdmin, { person: id })) return;
  throw new FarmError('conflict', 'This is the last admin of the farm', {
    hint: 'Make another person an admin first.',
  });
}

function viewOf({ id, name, role, disabled, password, sessions, created_at }: PersonListRow): PersonView {
  return {
    person_id: id,
    name,
    role,
    state: disabled ? 'disabled' : 'active',
    password,
    sessions,
    created_at: created_at.toISOString(),
  };
}
