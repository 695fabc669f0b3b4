import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { limits } from '#contracts';
import { type Database, openDatabase, readFarm, statement } from '#store';
import { aDatabase } from '../../../../test/support/database.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { type FarmKeys, openFarmKeys } from '../keys/farm-keys.js';
import type { PersonPrincipal, PersonRole } from '../principal.js';
import { Identity } from './identity.js';
import type { LoggedIn } from './logins.js';
import { hashPassword, isOutdated, isPassword } from './passwords.js';
import type { People } from './people.js';

let database: Database;
let owner: Database;
let keys: FarmKeys;
let identity: Identity;
/** Another controller over the same rows. */
let other: Identity;
let people: People;
beforeAll(async () => {
  const copy = await aDatabase();
  database = openDatabase({ url: copy.appUrl, max: 8 });
  owner = openDatabase({ url: copy.ownerUrl, max: 1 });
  const folder = tempDir('keys');
  keys = await openFarmKeys(folder);
  const farmId = (await readFarm(database)).id;
  identity = new Identity({ database, keys, farmId, leaseMs: 30_000 });
  other = new Identity({ database, keys: await openFarmKeys(folder), farmId, leaseMs: 30_000 });
  people = identity.people;
});
afterAll(async () => {
  await database.close();
  await owner.close();
});

const password = 'correct horse battery';
const wrong = { code: 'unauthenticated', detail: 'The name or the password is wrong' };
let addresses = 0;
function anAddress(): string {
  addresses += 1;
  return `192.0.2.${addresses}`;
}
const aName = () => `n${randomUUID().slice(0, 8)}`;

const login = (name: string, given: string, more: object = {}, by = people) =>
  by.logins.login({ name, password: given, address: anAddress(), ...more });

/** A person who has chosen a password. */
async function aPerson(role: PersonRole = 'operator'): Promise<LoggedIn> {
  const name = aName();
  const { setup_password } = await database.transaction((tx) => people.persons.create(tx, name, role));
  return await login(name, setup_password, { newPassword: password });
}

const pass = (table: string, columns: string, where: string, value: string) =>
  owner.run(statement(`test.pass.${randomUUID()}`, `update ${table} set ${columns} where ${where} = $value`), {
    value,
  });

/** The same a while later: attempts are let through again. */
const wait = () =>
  owner.run(statement('test.wait', `update login_attempt set next_at = clock_timestamp() - interval '1 s'`));

/** So many more wrong ones: the wait after the next is a long one. */
const deepen = () => owner.run(statement('test.deepen', 'update login_attempt set failures = failures + 8'));

describe('a password', () => {
  it('is kept as a string that names its algorithm, its parameters and a salt of its own', async () => {
    const one = await hashPassword(password);
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(await hashPassword(password)).not.toBe(one);
    expect([await isPassword(password, one), await isPassword('another', one), isOutdated(one)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('is the same however its letters were composed', async () => {
    const kept = await hashPassword('caf\u00e9 caf\u00e9 caf\u00e9');
    expect(await isPassword('cafe\u0301 cafe\u0301 cafe\u0301', kept)).toBe(true);
  });

  it('is read with the parameters that it was made with, also by scrypt, and written anew at the next login', async () => {
    const old = `$scrypt$ln=4,r=8,p=1$${Buffer.alloc(16, 7).toString('base64').replace(/=+$/, '')}$vVOEiTvNlV7ZbZIIWGqTHYqRgoSzPvVSRUPLmKXZbIo`;
    const person = await aPerson();
    const { scryptSync } = await import('node:crypto');
    const hash = scryptSync(password, Buffer.alloc(16, 7), 32, { N: 16, r: 8, p: 1 });
    const made = `${old.slice(0, old.lastIndexOf('$'))}$${hash.toString('base64').replace(/=+$/, '')}`;
    await owner.run(statement('test.old_hash', 'update person_password set hash = $hash where person = $id'), {
      hash: made,
      id: person.id,
    });
    expect(isOutdated(made)).toBe(true);
    await expect(login(person.name, 'another password')).rejects.toMatchObject(wrong);
    await expect(login(person.name, password)).resolves.toMatchObject({ id: person.id });
    const kept = await owner.first(
      statement<{ hash: string }>('test.hash', 'select hash from person_password where person = $id'),
      { id: person.id },
    );
    expect(isOutdated(kept?.hash ?? '')).toBe(false);
    await expect(login(person.name, password)).resolves.toMatchObject({ id: person.id });
  });
});

describe('a login', () => {
  it('answers a wrong password, an unknown name, a disabled person and one without a password in the same words', async () => {
    const person = await aPerson();
    const gone = await aPerson();
    await database.transaction((tx) => people.persons.disable(tx, gone.name));
    const bare = aName();
    await owner.run(
      statement('test.bare', `insert into principal (id, kind, name, role) values ($id, 'person', $name, 'viewer')`),
      { id: `p_${randomUUID().slice(0, 8)}`, name: bare },
    );
    for (const name of [person.name, gone.name, bare, 'nobody', 'No body\u0301', ''])
      await expect(login(name, name === person.name ? 'wrong password' : password)).rejects.toMatchObject(wrong);
  });

  it('does the work of a check for a name that is not there: it stands in the same line', async () => {
    const places = limits.passwordChecks + limits.passwordChecksWaiting;
    const checks = Array.from({ length: places + 1 }, () => isPassword('wrong password', undefined));
    const outcomes = await Promise.allSettled(checks);
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []));
    expect(refused).toEqual(['too_many_requests']);
  });

  it('takes a setup password for choosing another, once, and until it lapses', async () => {
    const name = aName();
    const { setup_password: setup } = await database.transaction((tx) => people.persons.create(tx, name, 'viewer'));
    await expect(login(name, setup)).rejects.toMatchObject({ code: 'password_change_required' });
    await expect(login(name, setup, { newPassword: setup })).rejects.toMatchObject({ code: 'invalid_input' });
    await expect(login(name, setup, { newPassword: password })).resolves.toMatchObject({ name });
    await expect(login(name, setup)).rejects.toMatchObject(wrong);
    await expect(login(name, password)).resolves.toMatchObject({ name });

    const late = aName();
    const lapsed = await database.transaction((tx) => people.persons.create(tx, late, 'viewer'));
    await pass('person_password', 'setup_until = clock_timestamp()', 'person', lapsed.person_id);
    await expect(login(late, lapsed.setup_password, { newPassword: password })).rejects.toMatchObject(wrong);
  });

  it('is slowed down by name after eight wrong ones, over all controllers, from whatever address, and says for how long', async () => {
    const person = await aPerson();
    const guess = (n: number) => login(person.name, `wrong password ${n}`, {}, n % 2 ? people : other.people);
    for (let n = 0; n < 8; n += 1) await expect(guess(n)).rejects.toMatchObject(wrong);
    await deepen();
    await expect(guess(8)).rejects.toMatchObject(wrong);
    const slowed = { code: 'too_many_requests', retryAfterMs: expect.any(Number) };
    await expect(guess(9)).rejects.toMatchObject(slowed);
    await expect(login(person.name, password)).rejects.toMatchObject(slowed);
    await wait();
    await expect(login(person.name, password)).resolves.toBeDefined();
    await expect(guess(10)).rejects.toMatchObject(wrong);
  });

  it('counts guesses that come at once one by one', async () => {
    const person = await aPerson();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) => login(person.name, `wrong password ${n}`)),
    );
    const codes = outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.code : 'in'));
    expect(codes.filter((code) => code === 'unauthenticated').length).toBeLessThanOrEqual(9);
    expect(codes).not.toContain('in');
  });

  it('is slowed down by address over all names, IPv6 by its network, and own logins do not pay for it', async () => {
    const person = await aPerson();
    const from = (n: number) => `2001:db8:0:7::${n.toString(16)}`;
    const guess = (n: number) => login(`nobody${n}`, 'wrong password', { address: from(n) });
    for (let n = 0; n < 42; n += 1) {
      await wait();
      if (n === 41) await deepen();
      await expect(guess(n)).rejects.toMatchObject(wrong);
      if (n % 10 === 9 && n < 39) await login(person.name, password, { address: from(n) });
    }
    await expect(guess(42)).rejects.toMatchObject({ code: 'too_many_requests' });
    await expect(login(person.name, password, { address: '2001:db8:0:8::1' })).resolves.toBeDefined();
  });

  it('keeps no name that was typed: it may be a password', async () => {
    await login('MyS3CRET', 'wrong password').catch(() => undefined);
    const rows = await owner.all(statement<object>('test.attempts', 'select * from login_attempt'));
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain('S3CRET');
  });
});

describe('a session', () => {
  it('is kept as a hash, known to every controller, and over when its person logs out', async () => {
    const person = await aPerson();
    const { secret, session } = await people.sessions.openBrowser(person, 'Firefox');
    const seen = await other.people.sessions.ofCookie(secret);
    expect(seen).toMatchObject({ person: { id: person.id, role: 'operator' }, csrfToken: session.csrfToken });
    const rows = await owner.all(statement<object>('test.sessions', 'select * from person_session'));
    expect(JSON.stringify(rows)).not.toContain(secret);
    await people.sessions.end(database, session.person.session, person.id);
    expect(await other.people.sessions.ofCookie(secret)).toBeUndefined();
  });

  it('has a CSRF token of its own', async () => {
    const person = await aPerson();
    const one = await people.sessions.openBrowser(person, '');
    const two = await people.sessions.openBrowser(person, '');
    expect(one.session.csrfToken).not.toBe(two.session.csrfToken);
    expect(one.session.csrfToken).toMatch(/^[\w-]{43}$/);
  });

  it('ends after its time whatever is done with it, and sooner when nothing is', async () => {
    const person = await aPerson();
    for (const end of [
      'expires_at = clock_timestamp()',
      `used_at = clock_timestamp() - make_interval(secs => idle_seconds)`,
    ]) {
      const { secret, session } = await people.sessions.openBrowser(person, '');
      expect(await people.sessions.ofCookie(secret)).toBeDefined();
      await pass('person_session', end, 'id', session.person.session);
      expect(await people.sessions.ofCookie(secret)).toBeUndefined();
    }
    const kept = await people.sessions.openBrowser(person, '');
    await people.sweep();
    const left = await owner.all(
      statement<{ id: string }>('test.left', 'select id from person_session where person = $id'),
      { id: person.id },
    );
    expect(left).toEqual([{ id: kept.session.person.session }]);
  });

  it.each<[string, (name: string) => Promise<unknown>]>([
    ['another role', (name) => database.transaction((tx) => people.persons.setRole(tx, name, 'viewer'))],
    ['a reset password', (name) => database.transaction((tx) => people.persons.resetPassword(tx, name))],
    ['an own new password', (name) => login(name, password, { newPassword: 'another long password' })],
    ['being disabled', (name) => database.transaction((tx) => people.persons.disable(tx, name))],
  ])('S4.6 ends with %s, at the next call on any controller, also one that is just being made', async (_, change) => {
    const person = await aPerson();
    const { secret } = await people.sessions.openBrowser(person, '');
    const session = await database.transaction((tx) => people.sessions.openCli(tx, person, 'laptop', 'x'.repeat(43)));
    const { token } = identity.personToken(person.id, session);
    await expect(other.authenticate(token, ['cli'])).resolves.toMatchObject({ principal: { id: person.id, session } });
    expect(await other.people.sessions.ofCookie(secret)).toBeDefined();

    await change(person.name);
    await expect(other.authenticate(token, ['cli'])).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await other.people.sessions.ofCookie(secret)).toBeUndefined();
    // The login was checked before the change and its session is inserted after it.
    const late = await people.sessions.openBrowser(person, '');
    expect(await people.sessions.ofCookie(late.secret)).toBeUndefined();
  });

  it('is not another one: of many the oldest goes', async () => {
    const person = await aPerson();
    const first = await people.sessions.openBrowser(person, '');
    for (let n = 0; n < 64; n += 1) await people.sessions.openBrowser(person, '');
    expect(await people.sessions.ofCookie(first.secret)).toBeUndefined();
    expect(await people.sessions.list(database, { kind: 'person', ...person })).toHaveLength(64);
  });
});

describe('the last admin', () => {
  it('can be neither lowered nor disabled, also when two admins lower each other at once', async () => {
    const [one, two] = [await aPerson('admin'), await aPerson('admin')];
    const change = (name: string, role: PersonRole) =>
      database.transaction((tx) => people.persons.setRole(tx, name, role));
    const outcomes = await Promise.allSettled([change(one.name, 'viewer'), change(two.name, 'viewer')]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const last = outcomes[0]?.status === 'fulfilled' ? two : one;
    await expect(change(last.name, 'operator')).rejects.toMatchObject({ code: 'conflict' });
    await expect(database.transaction((tx) => people.persons.disable(tx, last.name))).rejects.toMatchObject({
      code: 'conflict',
    });
    const next = await aPerson('admin');
    await expect(change(last.name, 'operator')).resolves.toMatchObject({ role: 'operator' });
    await database.transaction((tx) => people.persons.enable(tx, next.name));
  });
});

describe('a device login', () => {
  const ask = () => people.devices.begin({ client: 'laptop', address: anAddress(), publicKey: 'k'.repeat(43) });
  const browserOf = async (person: LoggedIn) => (await people.sessions.openBrowser(person, '')).session;

  it('waits for a person, tells who polls too fast, and gives one session for one code', async () => {
    const person = await aPerson();
    const browser = await browserOf(person);
    const { deviceCode, userCode } = await ask();
    expect(userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    const poll = (by = people) => by.devices.poll(deviceCode);
    expect(await poll()).toMatchObject({ error: 'authorization_pending' });
    expect(await poll(other.people)).toMatchObject({ error: 'slow_down' });
    expect(await other.people.devices.look(userCode.toLowerCase().replace('-', ' '), browser)).toMatchObject({
      client: 'laptop',
    });
    expect(await other.people.devices.decide(userCode, browser, true)).toBe(true);
    expect(await people.devices.decide(userCode, browser, false)).toBe(false);
    const polls = await Promise.all([poll(), poll(other.people), poll(), poll()]);
    expect(polls.filter(({ kind }) => kind === 'logged_in')).toHaveLength(1);
    expect(await poll()).toMatchObject({ error: 'invalid_grant' });
    expect(await people.devices.poll('unknown')).toMatchObject({ error: 'invalid_grant' });
  });

  it('says when it was denied, when it is too late, and when who approved may not come in any more', async () => {
    const person = await aPerson();
    const browser = await browserOf(person);
    const denied = await ask();
    await people.devices.decide(denied.userCode, browser, false);
    expect(await people.devices.poll(denied.deviceCode)).toMatchObject({ error: 'access_denied' });

    const late = await ask();
    await pass(
      'device_login',
      'expires_at = clock_timestamp()',
      `encode(hash, 'hex')`,
      createHash('sha256').update(late.deviceCode).digest('hex'),
    );
    expect(await people.devices.look(late.userCode, browser)).toBeUndefined();
    expect(await people.devices.decide(late.userCode, browser, true)).toBe(false);
    expect(await people.devices.poll(late.deviceCode)).toMatchObject({ error: 'expired_token' });

    const overtaken = await ask();
    await people.devices.decide(overtaken.userCode, browser, true);
    await database.transaction((tx) => people.persons.resetPassword(tx, person.name));
    expect(await people.devices.poll(overtaken.deviceCode)).toMatchObject({ error: 'access_denied' });
  });

  it('keeps neither code, lets nobody guess, and lets one network open only so many', async () => {
    const person = await aPerson();
    const browser = await browserOf(person);
    const { deviceCode, userCode } = await ask();
    const rows = JSON.stringify(await owner.all(statement<object>('test.devices', 'select * from device_login')));
    for (const secret of [deviceCode, userCode, userCode.replace('-', '')]) expect(rows).not.toContain(secret);

    for (let n = 0; n < 10; n += 1) expect(await people.devices.look('BBBB-BBBB', browser)).toBeUndefined();
    await deepen();
    expect(await people.devices.look('BBBB-BBBB', browser)).toBeUndefined();
    await expect(people.devices.look(userCode, browser)).rejects.toMatchObject({ code: 'too_many_requests' });

    const open = (address: string) => people.devices.begin({ client: '', address, publicKey: 'k'.repeat(43) });
    for (let n = 0; n < 32; n += 1) await open(`2001:db8:7:7::${n}`);
    await expect(open('2001:db8:7:7:1::')).rejects.toMatchObject({ code: 'too_many_requests' });
    await open('2001:db8:7:8::1');
  });
});

describe('a service token', () => {
  const principal = ({ id, name, role }: LoggedIn): PersonPrincipal => ({ kind: 'person', id, name, role });
  const make = (by: PersonPrincipal, changes: object = {}) =>
    database.transaction((tx) =>
      people.services.create(tx, by, { name: 'ci', role: 'viewer', audience: 'cli', days: 30, ...changes }),
    );

  it('S4.6 opens the doors of its audience, and none from the next call on after it was revoked or has run out', async () => {
    const creator = principal(await aPerson());
    const { token, token_id } = await make(creator);
    const rows = JSON.stringify(await owner.all(statement<object>('test.services', 'select * from service_token')));
    expect(rows).not.toContain(token.slice(7));
    await expect(other.authenticate(token, ['node', 'cli', 'ui'])).resolves.toMatchObject({
      door: 'cli',
      principal: { id: token_id, name: 'ci', role: 'viewer', service: true },
    });
    await expect(other.authenticate(token, ['mcp'])).rejects.toMatchObject({ code: 'unauthenticated' });
    await expect(other.authenticate(`${token.slice(0, -1)}_`, ['cli'])).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await database.transaction((tx) => people.services.revoke(tx, token_id, creator));
    await expect(other.authenticate(token, ['cli'])).rejects.toMatchObject({ code: 'unauthenticated' });

    const short = await make(creator, { audience: 'mcp' });
    await expect(other.authenticate(short.token, ['mcp'])).resolves.toMatchObject({ door: 'mcp' });
    await pass('service_token', 'expires_at = clock_timestamp()', 'id', short.token_id);
    await expect(other.authenticate(short.token, ['mcp'])).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('is allowed at most what its creator is, also later, and makes no other way in', async () => {
    const creator = await aPerson('operator');
    await expect(make(principal(creator), { role: 'admin' })).rejects.toMatchObject({ code: 'not_allowed' });
    const { token } = await make(principal(creator), { role: 'operator' });
    const { principal: service } = await identity.authenticate(token, ['cli']);
    if (service.kind !== 'person') throw new Error('no person');
    await expect(make(service)).rejects.toMatchObject({ code: 'not_allowed' });
    await database.transaction((tx) => people.persons.setRole(tx, creator.name, 'viewer'));
    await expect(other.authenticate(token, ['cli'])).resolves.toMatchObject({ principal: { role: 'viewer' } });
    await database.transaction((tx) => people.persons.disable(tx, creator.name));
    await expect(other.authenticate(token, ['cli'])).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('tells its last use, written once a minute at most, to its creator and to admins', async () => {
    const creator = principal(await aPerson());
    const { token, token_id } = await make(creator);
    const usedAt = async () => (await people.services.list(database, creator))[0]?.used_at;
    expect(await usedAt()).toBeNull();
    await identity.authenticate(token, ['cli']);
    const first = await usedAt();
    expect(first).not.toBeNull();
    await Promise.all(Array.from({ length: 8 }, () => other.authenticate(token, ['cli'])));
    expect(await usedAt()).toBe(first);
    await pass('service_token', `used_at = used_at - interval '61 s'`, 'id', token_id);
    await identity.authenticate(token, ['cli']);
    expect(await usedAt()).not.toBe(first);

    const stranger = principal(await aPerson());
    expect(await people.services.list(database, stranger)).toEqual([]);
    await expect(database.transaction((tx) => people.services.revoke(tx, token_id, stranger))).rejects.toMatchObject({
      code: 'not_found',
    });
    const admin = principal(await aPerson('admin'));
    expect((await people.services.list(database, admin)).map((row) => row.token_id)).toContain(token_id);
  });
});
