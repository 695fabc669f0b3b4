import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  agentCreate,
  agentDisable,
  agentList,
  type InputOf,
  jobSubmit,
  objectPaths,
  personCreate,
  personDisable,
  personEnable,
  personList,
  personSetRole,
  serviceTokenCreate,
  serviceTokenList,
  serviceTokenRevoke,
  whoami,
} from '#contracts';
import { openDatabase, statement } from '#store';
import { aController, codeOf, type TestController } from '../../../../../test/support/a-controller.js';
import { aPerson } from '../../../../../test/support/people.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
});
afterAll(() => farm.close());

const aName = () => `n${randomUUID().slice(0, 8)}`;

describe('roles', () => {
  const readOfAll = ['whoami', 'session_list', 'service_token_list', 'task_search', 'worker_list'];
  const operators = ['job_submit', 'workflow_import'];
  const admins = [
    ...['person_list', 'person_create', 'person_set_role', 'person_disable', 'person_enable', 'person_reset_password'],
    ...['key_list', 'key_rotate', 'worker_invite', 'worker_pause'],
  ];

  it.each([
    ['viewer', [], [...operators, ...admins]],
    ['operator', operators, admins],
    ['admin', [...operators, ...admins], []],
  ] as const)(
    'of a %s: what is listed can be called, what is above is refused before its input is read',
    async (role, may, mayNot) => {
      const browser = await (await aPerson(farm, role)).browser();
      const listed = JSON.stringify((await browser.fetch('/v1/operations')).body);
      for (const name of [...readOfAll, ...may]) {
        const answer = await browser.call(name, { SECRET: 1 });
        expect([name, codeOf(answer)]).toEqual([name, 'invalid_input']);
        expect(listed).toContain(`"name":"${name}"`);
      }
      for (const name of mayNot) {
        const answer = await browser.call(name, { SECRET: 1 });
        expect([name, answer.status, codeOf(answer)]).toEqual([name, 403, 'not_allowed']);
        expect(listed).not.toContain(`"name":"${name}"`);
      }
    },
  );

  it('of a viewer puts nothing on the farm: a source is taken from who may start a Task with it', async () => {
    const sha256 = createHash('sha256').update('a source').digest('hex');
    const put = async (role: 'viewer' | 'operator') => {
      const { token } = farm.controller.services.identity.personToken((await aPerson(farm, role)).id);
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' };
      const path = objectPaths.source.replace(':sha256', sha256);
      return (await farm.fetch(path, { method: 'PUT', body: 'a source', headers })).status;
    };
    expect([await put('viewer'), await put('operator')]).toEqual([403, 201]);
  });

  it('S4.6 follow the person in mid-session of a token, upwards and downwards', async () => {
    const person = await aPerson(farm, 'operator');
    const { token } = farm.controller.services.identity.personToken(person.id);
    const caller = farm.person(token);
    await expect(caller.call(jobSubmit, { kind: 'echo' })).resolves.toBeDefined();
    await farm.admin.call(personSetRole, { person: person.name, role: 'viewer' }, { confirm: true });
    await expect(caller.call(jobSubmit, { kind: 'echo' })).rejects.toThrow('not_allowed');
    await farm.admin.call(personSetRole, { person: person.name, role: 'admin' }, { confirm: true });
    await expect(caller.call(personList, {})).resolves.toBeDefined();
    await farm.admin.call(personDisable, { person: person.name }, { confirm: true });
    await expect(caller.call(whoami, {})).rejects.toThrow('unauthenticated');
    await farm.admin.call(personEnable, { person: person.name });
    await expect(caller.call(whoami, {})).resolves.toMatchObject({ role: 'admin' });
  });
});

describe('people', () => {
  it('are changed only when it is confirmed, and the proposal says what would end', async () => {
    const person = await aPerson(farm, 'operator');
    await person.browser();
    const asked = await farm.admin.ask('person_set_role', { person: person.name, role: 'viewer' });
    expect([asked.status, asked.body]).toMatchObject([
      409,
      {
        code: 'confirmation_required',
        proposal: {
          changes: [{ id: person.id, before: { role: 'operator', sessions: 1 }, after: { role: 'viewer' } }],
        },
      },
    ]);
    const { persons } = await farm.admin.call(personList, {});
    expect(persons.find(({ name }) => name === person.name)).toMatchObject({
      role: 'operator',
      state: 'active',
      password: 'own',
      sessions: 1,
    });
    expect((await farm.admin.ask('person_set_role', { person: 'nobody', role: 'viewer' })).status).toBe(404);
  });

  it('do not lose their last admin', async () => {
    const alone = await aController();
    for (const [name, input] of [
      ['person_disable', { person: 'admin' }],
      ['person_set_role', { person: 'admin', role: 'operator' }],
    ] as const)
      expect(codeOf(await alone.admin.ask(name, input, { confirm: true }))).toBe('conflict');
    await alone.close();
  });

  it('H41 get a setup password that is shown once, kept in no receipt, and neither in the audit nor in a log', async () => {
    const input: InputOf<typeof personCreate> = { name: aName(), role: 'viewer' };
    const { setup_password, login } = await farm.admin.call(personCreate, input, { key: 'once' });
    expect(login).toBe(`${farm.url}/device`);
    const again = await farm.admin.ask('person_create', input, { key: 'once' });
    expect([again.status, again.text]).toEqual([409, expect.stringContaining('only once')]);
    expect(codeOf(await farm.admin.ask('person_create', input))).toBe('conflict');
    const service = await farm.admin.call(serviceTokenCreate, { name: 'once' }, { key: 'once' });
    expect((await farm.admin.ask('service_token_create', { name: 'once' }, { key: 'once' })).status).toBe(409);
    const everything = await dump();
    expect(everything).toContain(input.name);
    for (const secret of [setup_password, service.token, service.token.slice(7)]) {
      expect(everything).not.toContain(secret);
      expect(farm.logged.join('\n')).not.toContain(secret);
    }
  });
});

describe('a service token', () => {
  it('calls operations as far as its role goes, is named in the audit, and ends with its revocation', async () => {
    const person = await aPerson(farm, 'operator');
    const caller = farm.person(farm.controller.services.identity.personToken(person.id).token);
    const { token, token_id } = await caller.call(serviceTokenCreate, { name: 'nightly', role: 'operator' });
    const service = farm.person(token);
    await expect(service.call(whoami, {})).resolves.toMatchObject({
      id: token_id,
      name: 'nightly',
      by: 'service_token',
    });
    await expect(service.call(jobSubmit, { kind: 'echo' })).resolves.toBeDefined();
    expect(await dump()).toContain(`call:job_submit cli user ${token_id}`);
    await expect(service.call(personList, {})).rejects.toThrow('not_allowed');
    await expect(service.call(serviceTokenCreate, { name: 'child' })).rejects.toThrow('not_allowed');

    const admin = await farm.admin.call(serviceTokenCreate, { name: 'strong', role: 'admin' });
    await expect(farm.person(admin.token).call(personCreate, { name: aName(), role: 'admin' })).rejects.toThrow(
      'not_allowed',
    );
    const { tokens } = await caller.call(serviceTokenList, {});
    expect(tokens).toEqual([
      expect.objectContaining({ token_id, state: 'active', created_by: person.name, used_at: expect.any(String) }),
    ]);
    await caller.call(serviceTokenRevoke, { token_id });
    await expect(service.call(whoami, {})).rejects.toThrow('unauthenticated');
  });

  it('of an admin opens no way in that would outlive it: no machine, no agent, no reach; it may close one', async () => {
    const { token } = await farm.admin.call(serviceTokenCreate, { name: 'stolen', role: 'admin' });
    const service = farm.person(token);
    const confirm = { confirm: true };
    const { agent_id: agent } = await farm.admin.call(agentCreate, { name: 'Reviewer', kinds: ['review'] });
    await service.call(agentDisable, { agent }, confirm);
    const opening = [
      ['worker_invite', {}],
      ['agent_enable', { agent }],
      ['grant_add', { agent, target: 'queue_list' }],
      ['exposure_set', { target: 'queue_list', offered: 'on' }],
      ['exposure_set', { target: 'status', offered: 'default' }],
    ] as const;
    for (const [name, input] of opening) {
      const answer = await service.ask(name, input, confirm);
      expect([name, answer.status, codeOf(answer)]).toEqual([name, 403, 'not_allowed']);
    }
    expect((await service.ask('exposure_set', { target: 'queue_list', offered: 'off' }, confirm)).status).toBe(200);
    expect(await farm.admin.call(agentList, {})).toMatchObject({
      agents: [expect.objectContaining({ agent_id: agent, state: 'disabled', grants: [] })],
    });
  });
});

/** Every row of every table as text, with a line for each call in the audit. */
async function dump(): Promise<string> {
  const owner = openDatabase({ url: farm.database.ownerUrl, max: 1 });
  try {
    const tables = await owner.all(
      statement<{ name: string }>(
        'test.tables',
        `select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`,
      ),
    );
    const rows = await Promise.all(
      tables.map(({ name }) => owner.all(statement<object>(`test.dump.${name}`, `select t::text from ${name} t`))),
    );
    const calls = await owner.all(
      statement<{ line: string }>('test.calls', `select concat_ws(' ', kind, door, class, actor) as line from audit`),
    );
    return [JSON.stringify(rows), ...calls.map(({ line }) => line)].join('\n');
  } finally {
    await owner.close();
  }
}
