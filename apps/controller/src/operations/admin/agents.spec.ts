import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { z } from 'zod';
import {
  agentCreate,
  agentDisable,
  agentEnable,
  agentList,
  agentRevoke,
  agentRotate,
  grantAdd,
  jobSubmit,
  loginPaths,
  OauthTokenReply,
  queueList,
} from '#contracts';
import { type Database, openDatabase, statement } from '#store';
import {
  type Answer,
  aController,
  codeOf,
  exchange,
  post,
  type TestController,
} from '../../../../../test/support/a-controller.js';
import { postMessage, toolResultOf } from '../../../../../test/support/mcp-client.js';
import { modern } from '../../../../../test/support/mcp-messages.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';
import { operations } from '../catalogue.js';

let farm: TestController;
let owner: Database;
beforeAll(async () => {
  farm = await aController();
  owner = openDatabase({ url: farm.database.ownerUrl, max: 1 });
});
afterAll(async () => {
  await farm.close();
  await owner.close();
});

const confirm = { confirm: true };

async function anAgent(more: object = {}) {
  const pool = `p${randomUUID().slice(0, 8)}`;
  const made = await farm.admin.call(agentCreate, { name: 'Reviewer', kinds: ['review'], pool, ...more });
  const submit = (kind: string) => farm.admin.call(jobSubmit, { kind, pool });
  return { ...made, pool, submit, token: await tokenOf(made.agent_id, made.secret) };
}

const form = (fields: Record<string, string> | string, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  body: new URLSearchParams(fields).toString(),
});
const atEndpoint = (init: RequestInit, query = '') => exchange(`${farm.url}${loginPaths.token}${query}`, init);
const grant = (client_id: string, client_secret: string) => ({
  grant_type: 'client_credentials',
  client_id,
  client_secret,
});

async function tokenOf(id: string, secret: string): Promise<string> {
  return OauthTokenReply.parse((await atEndpoint(form(grant(id, secret)))).body).access_token;
}

function call(token: string, name: string, input: object = {}): Promise<Answer> {
  const { headers, body } = modern('tools/call', { name, arguments: input });
  return postMessage(`${farm.url}/mcp/agent`, token, body, headers);
}
const hidden = 'not available';
const messageOf = ({ body }: Answer) =>
  z.object({ error: z.object({ message: z.string() }) }).safeParse(body).data?.error.message;

const Claimed = z.object({
  jobs: z.array(z.object({ id: z.string(), epoch: z.int(), lease_id: z.string(), kind: z.string() })),
});
async function claim(token: string, more: object = {}) {
  const { structuredContent } = toolResultOf(await call(token, 'job_claim', { request_id: randomUUID(), ...more }));
  return z.object({ result: Claimed }).parse(structuredContent).result.jobs;
}
async function stateOf(job: string) {
  return (await farm.admin.call(queueList, {})).jobs.find(({ id }) => id === job);
}

describe('the token of an agent', () => {
  it('S4.2 S4.3 is for one door and ten minutes, names the kinds of jobs, and carries no grant', async () => {
    const { agent_id, mcp_url, token } = await anAgent({ kinds: ['review', 'mail'] });
    await farm.admin.call(grantAdd, { agent: agent_id, target: 'status' }, confirm);
    const claims = decodeJwt(token);
    expect(decodeProtectedHeader(token)).toMatchObject({ typ: 'at+jwt', alg: 'EdDSA' });
    expect(claims).toMatchObject({
      aud: mcp_url,
      sub: agent_id,
      client_id: agent_id,
      scope: 'job:review job:mail',
      iss: expect.any(String),
      jti: expect.any(String),
    });
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(600);
    expect(JSON.stringify(claims)).not.toContain('status');
  });

  it('A1.6 opens nothing at the door of people and machines, whatever it asks there', async () => {
    const { token } = await anAgent();
    const headers = { authorization: `Bearer ${token}` };
    for (const path of ['/v1/operations', '/v1/openapi.json'])
      expect((await farm.fetch(path, { headers })).status).toBe(401);
    for (const name of ['queue_requeue', 'job_claim', 'no_such_thing'])
      expect(codeOf(await farm.fetch(`/v1/operations/${name}`, post({ input: {} }, headers)))).toBe('unauthenticated');
    expect((await call(farm.admin.token, 'status')).status).toBe(401);
  });

  it('is given for the secret in a form, in JSON or as HTTP Basic, and for fewer kinds where that is asked', async () => {
    const { agent_id, secret, mcp_url } = await anAgent({ kinds: ['review', 'mail'] });
    const basic = { authorization: `Basic ${Buffer.from(`${agent_id}:${secret}`).toString('base64')}` };
    const good = [
      form(grant(agent_id, secret)),
      post({ ...grant(agent_id, secret), resource: mcp_url }),
      form({ grant_type: 'client_credentials' }, basic),
    ];
    for (const init of good) {
      const answer = await atEndpoint(init);
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
      expect(OauthTokenReply.parse(answer.body)).toMatchObject({ expires_in: 600, scope: 'job:review job:mail' });
    }
    const narrow = await atEndpoint(form({ ...grant(agent_id, secret), scope: 'job:mail job:dispatch job:other' }));
    expect(narrow.body).toMatchObject({ scope: 'job:mail' });
  });

  it('is refused in one way for who is not there, who has another secret, and who is disabled or revoked', async () => {
    const there = await anAgent();
    const away = await anAgent();
    const gone = await anAgent();
    await farm.admin.call(agentDisable, { agent: away.agent_id }, confirm);
    await farm.admin.call(agentRevoke, { agent: gone.agent_id }, confirm);
    const answers = await Promise.all(
      [
        grant('a_00000000', there.secret),
        grant('nobody\u0001', ''),
        grant(there.agent_id, away.secret),
        grant(away.agent_id, away.secret),
        grant(gone.agent_id, gone.secret),
        grant(gone.agent_id, ''),
      ].map((fields) => atEndpoint(form(fields))),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
  });

  it('is refused as OAuth has it for what was asked wrongly, and never for a secret in the address', async () => {
    const { agent_id, secret } = await anAgent();
    const fields = grant(agent_id, secret);
    const errorOf = async (init: RequestInit, query = '') => {
      const { status, body } = await atEndpoint(init, query);
      return [status, z.object({ error: z.string() }).parse(body).error];
    };
    expect(await errorOf(form({}), `?${new URLSearchParams(fields)}`)).toEqual([400, 'invalid_request']);
    expect(await errorOf(form(`${new URLSearchParams(fields)}&client_id=x`))).toEqual([400, 'invalid_request']);
    expect(await errorOf(post('{'))).toEqual([400, 'invalid_request']);
    expect(await errorOf(form({ ...fields, grant_type: 'password' }))).toEqual([400, 'unsupported_grant_type']);
    expect(await errorOf(form({ ...fields, resource: `${farm.url}/mcp` }))).toEqual([400, 'invalid_target']);
    const basic = { authorization: `Basic ${Buffer.from(`${agent_id}:${secret}`).toString('base64')}` };
    expect(await errorOf(form(fields, basic))).toEqual([401, 'invalid_client']);
  });
});

describe('the secret of an agent', () => {
  it('H41 is shown once and kept nowhere; a new one ends the old', async () => {
    const { agent_id, secret } = await anAgent();
    const made = await farm.admin.ask('agent_create', { name: 'Twice' }, { key: 'once' });
    expect(made.status).toBe(200);
    expect(codeOf(await farm.admin.ask('agent_create', { name: 'Twice' }, { key: 'once' }))).toBe('conflict');
    const rotated = await farm.admin.call(agentRotate, { agent: agent_id }, confirm);
    expect((await atEndpoint(form(grant(agent_id, secret)))).status).toBe(401);
    expect(await tokenOf(agent_id, rotated.secret)).toEqual(expect.any(String));
    const tables = await owner.all(
      statement<{ name: string }>('test.tables', `select tablename as name from pg_tables where schemaname = 'public'`),
    );
    for (const { name } of tables) {
      const rows = await owner.all(
        statement<{ row: string }>(`test.dump_${name}`, `select t::text as row from "${name}" t`),
      );
      for (const { row } of rows) for (const one of [secret, rotated.secret]) expect(row).not.toContain(one.slice(9));
    }
    expect(farm.logged.join('\n')).not.toContain(secret.slice(9));
  });
});

describe('a secret that was stolen', () => {
  it('S4.6 ends with its tokens when it is replaced: those that were given for it open nothing, at any controller', async () => {
    const other = await aController({ database: farm.database, data: farm.data, publicUrl: farm.url });
    const { agent_id, token } = await anAgent();
    const statusAt = async (url: string, bearer: string) => {
      const { headers, body } = modern('tools/list');
      return (await postMessage(`${url}/mcp/agent`, bearer, body, headers)).status;
    };
    expect([await statusAt(farm.url, token), await statusAt(other.url, token)]).toEqual([200, 200]);
    const { secret } = await farm.admin.call(agentRotate, { agent: agent_id }, confirm);
    expect(await statusAt(farm.url, token)).toBe(401);
    await waitUntil(async () => (await statusAt(other.url, token)) === 401);
    const next = await tokenOf(agent_id, secret);
    expect([await statusAt(farm.url, next), await statusAt(other.url, next)]).toEqual([200, 200]);
    await other.close();
  });
});

describe('an agent at work', () => {
  it('A4.2 takes jobs of its kinds without any grant, as many as it has places', async () => {
    const { submit, token } = await anAgent({ kinds: ['review'], slots: 2 });
    for (const kind of ['mail', 'review', 'review', 'review']) await submit(kind);
    expect((await claim(token, { limit: 16 })).map(({ kind }) => kind)).toEqual(['review', 'review']);
    expect(await claim(token)).toEqual([]);
    expect(await claim((await anAgent({ kinds: [] })).token)).toEqual([]);
  });

  it('H37 is never given what is for workers, not by a row that somebody wrote either', async () => {
    const refused = await farm.admin.ask('agent_create', { name: 'Sly', kinds: ['dispatch'] });
    expect(refused.body).toMatchObject({
      code: 'invalid_input',
      fields: [{ path: '/kinds/0', rule: 'reserved_kind' }],
    });
    const { agent_id, secret, pool } = await anAgent();
    await owner.run(statement('test.sly', `update agent set scope = '{dispatch,command_run}' where id = $id`), {
      id: agent_id,
    });
    const { queue, database } = farm.controller.services;
    await database.transaction((tx) =>
      queue.submit(tx, { id: randomUUID(), kind: 'command_run', pool, scope: 't_00000000' }),
    );
    const reply = OauthTokenReply.parse((await atEndpoint(form(grant(agent_id, secret)))).body);
    expect(reply.scope).toBe('');
    expect(await claim(reply.access_token, { kinds: ['command_run'] })).toEqual([]);
  });

  it('A12.12 that is disabled is refused in mid-work, and its job is queued for others at once', async () => {
    const { agent_id, submit, token, pool } = await anAgent();
    const { job_id } = await submit('review');
    const [lease] = await claim(token);
    expect(lease?.id).toBe(job_id);
    const fence = { job_id, epoch: lease?.epoch, lease_id: lease?.lease_id };
    const disabled = await farm.admin.call(agentDisable, { agent: agent_id }, confirm);
    expect(disabled).toEqual({ agent_id, state: 'disabled', jobs_returned: 1 });
    for (const [name, input] of [
      ['job_heartbeat', { leases: [fence] }],
      ['job_complete', { ...fence, result: {} }],
      ['job_claim', { request_id: randomUUID() }],
    ] as const)
      expect([name, messageOf(await call(token, name, input))]).toEqual([name, hidden]);
    expect(await stateOf(job_id)).toMatchObject({ state: 'queued', tries: 0, note: 'its agent was disabled' });

    const other = await anAgent({ pool });
    expect((await claim(other.token)).map(({ id, epoch }) => [id, epoch])).toEqual([[job_id, 2]]);
    await farm.admin.call(agentEnable, { agent: agent_id }, confirm);
    const late = toolResultOf(await call(token, 'job_complete', { ...fence, result: {} }));
    expect(late.structuredContent).toMatchObject({ kind: 'error', code: 'stale_lease' });
  });

  it('that is revoked is over for good, with its grants and its leases', async () => {
    const { agent_id, submit, token } = await anAgent();
    await farm.admin.call(grantAdd, { agent: agent_id, target: 'status' }, confirm);
    const { job_id } = await submit('review');
    await claim(token);
    expect(await farm.admin.call(agentRevoke, { agent: agent_id }, confirm)).toMatchObject({ jobs_returned: 1 });
    expect(messageOf(await call(token, 'status'))).toBe(hidden);
    expect((await stateOf(job_id))?.state).toBe('queued');
    const listed = (await farm.admin.call(agentList, {})).agents.find((one) => one.agent_id === agent_id);
    expect(listed).toMatchObject({ state: 'revoked', grants: [] });
    for (const name of ['agent_enable', 'agent_disable', 'agent_rotate'])
      expect(codeOf(await farm.admin.ask(name, { agent: agent_id }, confirm))).toBe('conflict');
    expect(codeOf(await farm.admin.ask('grant_add', { agent: agent_id, target: 'status' }, confirm))).toBe('conflict');
  });
});

describe('the ruling of agents', () => {
  it('A3.8 is never offered over MCP: agents, grants, exposure, approvals, keys, policy, people', () => {
    const ruling = operations.filter(({ name }) =>
      /^(agent|grant|exposure|approval|key|policy|person|session|service_token|audit|config)_/.test(name),
    );
    expect(ruling.length).toBeGreaterThan(20);
    expect(ruling.filter(({ access }) => access.ceiling !== 'never').map(({ name }) => name)).toEqual([]);
    const admin = operations.filter(({ access }) => access.catalogue === 'admin');
    expect(admin.filter(({ access }) => access.ceiling !== 'never').map(({ name }) => name)).toEqual([]);
  });

  it('A3.9 is hidden from an agent that was granted it: it sets nothing', async () => {
    const { agent_id, token } = await anAgent();
    await farm.admin.call(grantAdd, { agent: agent_id, target: 'exposure_set' }, confirm);
    const count = statement<{ n: number }>('test.settings', 'select count(*) as n from operation_settings');
    const before = await owner.first(count);
    expect(messageOf(await call(token, 'exposure_set', { target: 'exposure_set', offered: 'on' }))).toBe(hidden);
    expect(await owner.first(count)).toEqual(before);
  });
});
