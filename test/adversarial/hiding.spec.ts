import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, SignJWT } from 'jose';
import { z } from 'zod';
import { agentList, exposureSet, workerInvite } from '#contracts';
import { operations } from '../../apps/controller/src/operations/catalogue.js';
import { openFarmKeys } from '../../libs/gate/src/keys/farm-keys.js';
import { TokenIssuer } from '../../libs/gate/src/tokens/token-issuer.js';
import { agentKind, jobKind, personKind } from '../../libs/gate/src/tokens/token-kinds.js';
import { type Answer, exchange, post, workerOf } from '../support/a-controller.js';
import { aFleet, type Fleet, type FleetAgent, type McpCaller } from '../support/fleet.js';
import { postMessage } from '../support/mcp-client.js';
import { legacy, modern } from '../support/mcp-messages.js';
import { rankTest, spreadOf } from '../support/rank-test.js';

let fleet: Fleet;
let agent: FleetAgent;
beforeAll(async () => {
  fleet = await aFleet();
  // Switched off, never offered, offered and not granted: each is there.
  await fleet.admin.call(exposureSet, { target: 'worker_list', offered: 'off' }, { confirm: true });
  agent = await fleet.anAgent('prober', ['queue_list']);
});
afterAll(() => fleet.stop());

const protocol = ['job_claim', 'job_complete', 'job_fail', 'job_heartbeat'];
const hidden = operations.map(({ name }) => name).filter((name) => name !== 'queue_list' && !protocol.includes(name));
/** Like real ones, beside them, and nothing like them. */
const absent = hidden.flatMap((name, n) => [`${name}s`, name.toUpperCase(), `odd.${name}`, `_${name}${n}`]);

/** What can be told apart of an answer: all but the time of day and the request's own number. */
function looksOf({ status, text, headers }: Answer): string {
  const told = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
  return JSON.stringify([status, text, told]);
}

const auditRows = async () => (await fleet.farm.rows<{ n: string }>('select count(*) as n from audit'))[0]?.n;

describe('what an agent is not offered', () => {
  it('T1 is one answer for a thousand names, half of them there, by whatever controller, and leaves no trace', async () => {
    const before = await auditRows();
    const names = Array.from({ length: 1_000 }, (_, n) => {
      const from = n % 2 === 0 ? hidden : absent;
      return from[(n >> 1) % from.length];
    });
    const looks = new Set<string>();
    for (let from = 0; from < names.length; from += 20) {
      const answers = await Promise.all(
        names.slice(from, from + 20).map((name, n) => agent.ask(name, inputs[(from + n) % inputs.length])),
      );
      for (const answer of answers) looks.add(looksOf(answer));
    }
    expect([...looks]).toEqual([expect.stringContaining('not available')]);
    expect(await auditRows()).toBe(before);
    for (const at of fleet.farm.urls) {
      const { text } = await exchange(`${at}/metrics`);
      const refused = text.split('\n').filter((line) => line.startsWith('longshore_gate_refusals_total{'));
      expect(refused.filter((line) => line.includes('step="exposure"') && line.includes('operation='))).toEqual([]);
    }
  });

  it('A5.3 takes as long as what is not there: printed, not judged', async () => {
    const there = ['exposure_set', 'worker_list', 'task_get', 'agent_create', 'queue_cancel'];
    const notThere = ['exposure_sit', 'worker_lost', 'task_got', 'agent_credit', 'queue_concel'];
    const [at] = fleet.farm.urls;
    const times: Readonly<Record<'hidden' | 'absent', number[]>> = { hidden: [], absent: [] };
    const random = lcg(20_260_728);
    for (let n = 0; n < 3_000; n += 1) {
      const isThere = random() < 0.5;
      const name = (isThere ? there : notThere)[Math.floor(random() * 5)];
      const from = performance.now();
      const answer = await agent.ask(name, {}, at === undefined ? {} : { at });
      times[isThere ? 'hidden' : 'absent'].push(performance.now() - from);
      expect(answer.status).toBe(200);
    }
    const shown = (values: readonly number[]) =>
      Object.entries(spreadOf(values))
        .map(([key, value]) => `${key} ${key === 'n' ? value : `${value.toFixed(3)} ms`}`)
        .join(', ');
    const { z, p, effect } = rankTest(times.hidden, times.absent);
    process.stdout.write(
      `hidden names: ${shown(times.hidden)}\nabsent names: ${shown(times.absent)}\n` +
        `Mann-Whitney: z ${z.toFixed(2)}, p ${p.toFixed(3)}, P(hidden > absent) ${effect.toFixed(3)}\n`,
    );
  });
});

const inputs = [{}, { confirm: true }, { agent: 'x' }, 'x', null, [1], { confirmation_token: 'y'.repeat(43) }];

/** A seed's own sequence in [0, 1), by Numerical Recipes. */
function lcg(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('a client of 2025', () => {
  it('T20 is hidden the same names in the same words as one of 2026, at both doors', async () => {
    const doors: readonly [McpCaller, readonly string[]][] = [
      [agent, hidden],
      [fleet.assistant, [...protocol, 'exposure_set', 'grant_add', 'checkpoint', 'worker_invite', 'agent_create']],
    ];
    for (const [caller, names] of doors) {
      const looks = new Set<string>();
      for (const name of [...names, 'no_such_tool', '', 'NO SUCH', 7, null]) {
        for (const isOld of [true, false]) {
          const { status, text } = await caller.ask(name, { confirm: true }, { legacy: isOld });
          looks.add(JSON.stringify([status, text]));
        }
      }
      expect([...looks]).toEqual([expect.stringContaining('not available')]);
      const [old, young] = [await caller.tools({ legacy: true }), await caller.tools()];
      expect(old).toEqual(young);
      const listed = young.map(({ name }) => name);
      expect(names.filter((name) => listed.includes(name))).toEqual([]);
    }
  });
});

describe('at any controller', () => {
  const list = modern('tools/list');
  const statusAt = async (path: string, token: string | undefined, headers: object = {}, message = list) =>
    (await postMessage(`${fleet.proxy.url}${path}`, token, message.body, { ...message.headers, ...headers })).status;

  it('T19 an Origin or a Host of others is refused with 403, before any token is looked at', async () => {
    for (const path of ['/mcp', '/mcp/agent']) {
      for (const origin of ['http://evil.example', 'null', 'http://127.0.0.1:1', `${fleet.proxy.url}.evil.example`])
        for (const token of [undefined, agent.token, fleet.assistant.token])
          expect([path, origin, await statusAt(path, token, { origin })]).toEqual([path, origin, 403]);
      for (const host of ['evil.example', 'evil.example:80', '127.0.0.1.evil.example'])
        expect([host, await statusForHost(path, host, agent.token)]).toEqual([host, 403]);
    }
    expect(await statusAt('/mcp', fleet.assistant.token, { origin: fleet.proxy.url })).toBe(200);
  });

  it('T19 a token of another audience, of another type, of another key or of none is refused with 401 at every door', async () => {
    const { signing } = await openFarmKeys(join(fleet.farm.data, 'keys'));
    const { farm_id } = (await fleet.farm.rows<{ farm_id: string }>('select id as farm_id from farm'))[0] ?? {};
    const issuer = `longshore:${farm_id}`;
    const worker = await workerOf(
      fleet.proxy.url,
      (await fleet.admin.call(workerInvite, { name: 'w', slots: 1, labels: [] })).ticket,
    );
    const persons = new TokenIssuer(personKind, { keys: signing, issuer });
    const ofAdmin = (aud: 'cli' | 'ui' | 'mcp') =>
      persons.mint({ aud, sub: fleet.admin.id, client_id: 'assistant' }, 600);
    const { secret_at } = z.object({ secret_at: z.int() }).parse(decodeJwt(agent.token));
    const ofAgent = (aud: string) =>
      new TokenIssuer(agentKind, { keys: signing, issuer }).mint(
        { aud, sub: agent.id, client_id: agent.id, scope: 'job:mail', secret_at },
        600,
      );
    const own = `${fleet.proxy.url}/mcp/agent`;
    expect(await statusAt('/mcp/agent', ofAgent(own))).toBe(200);
    expect(await statusAt('/mcp', ofAdmin('mcp'))).toBe(200);

    const job = new TokenIssuer(jobKind, { keys: signing, issuer }).mint(
      {
        aud: 'job',
        sub: '019a0000-0000-7000-8000-000000000000',
        epoch: 1,
        lease_id: '019a0000-0000-7000-8000-000000000001',
        kind: 'mail',
        holder: agent.id,
      },
      600,
    );
    const everyDoor = [
      ...forged(agent.token),
      ...forged(fleet.assistant.token),
      ...forged(fleet.admin.token),
      await withPublicKey(agent.token),
      new TokenIssuer(agentKind, { keys: signing, issuer: 'longshore:other' }).mint(
        { aud: own, sub: agent.id, client_id: agent.id, scope: 'job:mail', secret_at },
        600,
      ),
      ofAgent('https://other.example/mcp/agent'),
      ofAgent(`${fleet.proxy.url}/mcp`),
      job,
      '',
      'x',
    ];
    for (const token of [...everyDoor, ofAdmin('cli'), ofAdmin('ui'), ofAdmin('mcp'), worker.token])
      expect(await statusAt('/mcp/agent', token)).toBe(401);
    for (const token of [...everyDoor, ofAdmin('cli'), ofAdmin('ui'), ofAgent(own), worker.token])
      expect(await statusAt('/mcp', token)).toBe(401);
    for (const token of [...everyDoor, ofAdmin('mcp'), ofAgent(own)]) {
      const body = post({ input: {} }, { authorization: `Bearer ${token}` });
      for (const name of ['status', 'no_such_thing'])
        expect((await exchange(`${fleet.proxy.url}/v1/operations/${name}`, body)).status).toBe(401);
    }
    const { agents } = await fleet.admin.call(agentList, {});
    expect(agents.map(({ agent_id }) => agent_id)).toContain(agent.id);

    /** Signed with our public key, as a secret that anybody has. */
    async function withPublicKey(token: string): Promise<string> {
      const { raw, kid } = signing.current;
      const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
      const header = { alg: 'HS256', typ: 'at+jwt', kid };
      return await new SignJWT(claims).setProtectedHeader(header).sign(Buffer.from(raw, 'base64url'));
    }
  });
});

/** alg none, another type, another signature, claims that were changed. */
function forged(token: string): readonly string[] {
  const [header = '', claims = '', signature = ''] = token.split('.');
  const read = (part: string): object => JSON.parse(Buffer.from(part, 'base64url').toString());
  const written = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return [
    `${written({ ...read(header), alg: 'none' })}.${claims}.`,
    `${written({ ...read(header), alg: 'none' })}.${claims}.${signature}`,
    `${written({ ...read(header), typ: 'job+jwt' })}.${claims}.${signature}`,
    `${written({ ...read(header), typ: 'JWT' })}.${claims}.${signature}`,
    `${written({ ...read(header), jwk: { kty: 'OKP', crv: 'Ed25519', x: 'AAAA' } })}.${claims}.${signature}`,
    `${header}.${written({ ...read(claims), exp: 4_102_444_800 })}.${signature}`,
    `${header}.${claims}.${'A'.repeat(86)}`,
  ];
}

/** fetch sets the Host itself. */
function statusForHost(path: string, host: string, token: string): Promise<number | undefined> {
  const { hostname, port } = new URL(fleet.proxy.url);
  const { headers, body } = legacy('tools/list');
  return new Promise((resolve, reject) => {
    request(
      {
        hostname,
        port,
        path,
        method: 'POST',
        headers: { ...headers, host, authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      },
    )
      .on('error', reject)
      .end(JSON.stringify(body));
  });
}
