import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, credsAuthenticator } from '@nats-io/transport-node';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { auditList, identityPaths, loginPaths, workerInvite } from '#contracts';
import { operations } from '../../apps/controller/src/operations/catalogue.js';
import { type Answer, codeOf, exchange, post, type TestWorker, workerOf } from '../support/a-controller.js';
import { canaryInputs } from '../support/canary-inputs.js';
import { aFleet, type Fleet, type FleetAgent } from '../support/fleet.js';
import { hostilePlugin } from '../support/hostile-plugin.js';
import { postMessage, toolResultOf } from '../support/mcp-client.js';
import { waitUntil } from '../support/wait-until.js';

/** Fits a name, so that it gets as far as a name gets. */
const canary = 'kanarie7q3x';
const pluginTools = ['odd.fail', 'odd.spoil', 'odd.foresee', 'odd.lie', 'odd.flood'];

let fleet: Fleet;
let agent: FleetAgent;
let worker: TestWorker;
/** Subjects and payloads of everything that goes over NATS. */
const rung: string[] = [];
let deafen = async (): Promise<void> => {};
beforeAll(async () => {
  fleet = await aFleet(`[api]\nmcp_enabled = true\n${hostilePlugin}`);
  deafen = await hearEverything(fleet);
  await waitUntil(async () => (await fleet.admin.ask('odd.flood', { letter: 'a', times: 1 })).status === 200, {
    within: 30_000,
  });
  const offered = operations.filter(
    ({ access }) => access.ceiling !== 'never' && (access.catalogue === 'operator' || access.catalogue === 'admin'),
  );
  agent = await fleet.anAgent('canary', [...offered.map(({ name }) => name), ...pluginTools]);
  const { ticket } = await fleet.admin.call(workerInvite, { name: 'w', slots: 1, labels: [] });
  worker = await workerOf(fleet.proxy.url, ticket);
});
afterAll(async () => {
  await deafen();
  await fleet.stop();
});

async function hearEverything({ farm: { nats } }: Fleet): Promise<() => Promise<void>> {
  if (!nats) throw new Error('the farm has no NATS');
  const connection = await connect({
    servers: nats.url,
    authenticator: credsAuthenticator(new TextEncoder().encode(nats.controllerCreds)),
    // What hangs, not what is slow.
    timeout: 60_000,
  });
  connection.subscribe('>', {
    callback: (error, message) => void rung.push(error ? error.message : `${message.subject} ${message.string()}`),
  });
  await connection.flush();
  return () => connection.close();
}

/** Everything that a person who may see all of the farm could find the text in, but for what was asked for and kept. */
async function traces(text: string): Promise<readonly string[]> {
  const audit = await fleet.farm.rows<{ row: string }>('select row_to_json(a)::text as row from audit a');
  const log = (await fleet.logged()).split('\n');
  const logs = readdirSync(join(fleet.farm.data, 'logs')).map((file) =>
    readFileSync(join(fleet.farm.data, 'logs', file), 'utf8'),
  );
  expect([log.length > 10, audit.length > 5]).toEqual([true, true]);
  return [...audit.map(({ row }) => row), ...log, ...rung, ...logs.flatMap((each) => each.split('\n'))].filter((line) =>
    line.includes(text),
  );
}

describe('a text that was given in confidence', () => {
  it('T7 is in no refusal of any operation at any door, no log of the three controllers, no audit row and no message on NATS', async () => {
    const told: string[] = [];
    const failed = new Map<string, number>();
    const look = (name: string, answer: Answer, hasFailed: boolean) => {
      expect([name, answer.status < 500 || answer.status === 504]).toEqual([name, true]);
      if (!hasFailed) return;
      failed.set(name, (failed.get(name) ?? 0) + 1);
      if ([answer.text, ...[...answer.headers].map(([, value]) => value)].join().includes(canary))
        told.push(`${name}: ${answer.text}`);
    };
    for (const { name, access, inputSchema } of operations) {
      const asWorker = access.catalogue === 'job' || access.catalogue === 'member';
      for (const input of canaryInputs(inputSchema, canary)) {
        const by = asWorker ? worker : fleet.admin;
        for (const more of asWorker ? [{}, { jobToken: canary }] : [{}, { confirm: true }]) {
          const answer = await by.ask(name, input, more);
          // What a person is asked to confirm is not refused: it names what they named.
          look(name, answer, answer.status >= 400 && codeOf(answer) !== 'confirmation_required');
        }
        if (access.ceiling === 'never' || access.catalogue === 'member') continue;
        const answer = await agent.ask(name, input);
        const { text } = answer;
        look(`${name} over MCP`, answer, text.includes('"kind":"error"') || text.includes('"error":{'));
      }
    }
    expect(told).toEqual([]);
    // Each operation was refused at least once, or the test would prove little of it.
    const untold = operations.filter(({ name }) => !failed.has(name)).map(({ name }) => name);
    expect(untold).toEqual([]);

    for (const path of [...Object.values(identityPaths), ...Object.values(loginPaths)]) {
      const body = Object.fromEntries(
        [
          'name',
          'password',
          'new_password',
          'ticket',
          'principal',
          'challenge',
          'signature',
          'device_code',
          'user_code',
        ].map((field) => [field, canary]),
      );
      const sent = await exchange(`${fleet.proxy.url}${path}`, post(body));
      look(path, sent, sent.status >= 400);
      const form = await exchange(`${fleet.proxy.url}${path}?${canary}=${canary}`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`${canary}:${canary}`).toString('base64')}` },
        body: new URLSearchParams({ grant_type: canary, device_code: canary, [canary]: canary }),
      });
      look(path, form, form.status >= 400);
    }
    for (const path of [`/v1/operations/${canary}`, `/${canary}?${canary}`, `/mcp/${canary}`]) {
      const answer = await exchange(`${fleet.proxy.url}${path}`, post({ input: { [canary]: canary } }));
      look(path, answer, true);
    }
    expect(told).toEqual([]);
    expect(await traces(canary)).toEqual([]);
  });

  it('T8 that a plugin throws is told of by a clean type alone, to people and to agents', async () => {
    const secret = `${canary}plugin`;
    for (const where of ['message', 'stack', 'name', 'cause', 'class', 'code', 'text']) {
      for (const name of ['odd.fail', 'odd.spoil', 'odd.foresee']) {
        const asked = await fleet.admin.ask(name, { where }, { confirm: true });
        if (name !== 'odd.foresee') expect([name, asked.status, codeOf(asked)]).toEqual([name, 502, 'plugin_failed']);
        const unconfirmed = await fleet.admin.ask(name, { where });
        const told = await agent.ask(name, { where });
        for (const { text } of [asked, unconfirmed, told]) expect([name, where, text]).not.toContain(secret);
        for (const { text } of [asked, unconfirmed, told])
          for (const type of text.match(/"type":"[^"]*"/g) ?? [])
            expect(type).toMatch(/^"type":"(?:[A-Za-z][A-Za-z0-9_]{0,63}|\/problems\/\w+|text)"$/);
        expect(asked.text + unconfirmed.text + told.text).not.toContain(secret);
      }
    }
    for (const answer of [await fleet.admin.ask('odd.lie', {}), await agent.ask('odd.lie')])
      expect([answer.text.includes('invalid_output'), answer.text.includes(secret)]).toEqual([true, false]);
    expect(JSON.stringify(await fleet.admin.call(auditList, { limit: 100 }))).not.toContain(secret);
    expect(await traces(secret)).toEqual([]);
  });
});

describe('text from outside', () => {
  it('T18 of 300 kB in letters of several bytes ends in its fence, in 256,000 clean bytes, as its schema says', async () => {
    const tool = (await agent.tools()).find(({ name }) => name === 'odd.flood');
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    const fits = ajv.compile(tool?.outputSchema ?? {});
    for (const letter of ['é', '漢', '🦆', '"', '\n', '\u2028']) {
      const times = Math.ceil(300_000 / Buffer.byteLength(letter));
      const answer = await agent.ask('odd.flood', { letter, times });
      const { content, structuredContent } = toolResultOf(answer);
      const { text } = content[0];
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(256_000);
      expect(Buffer.byteLength(text)).toBeGreaterThan(255_000);
      expect([text.isWellFormed(), text.includes('\uFFFD')]).toEqual([true, false]);
      const opened = text.match(/<<outside-text ([0-9a-f]{16})>>/);
      expect(text.split('\n').at(-1)).toBe(`<</outside-text ${opened?.[1]}>>`);
      expect(text.split(`<</outside-text ${opened?.[1]}>>`)).toHaveLength(2);
      expect(structuredContent).toMatchObject({ kind: 'cut' });
      expect([fits(structuredContent), fits.errors]).toEqual([true, null]);
    }
  });
});

describe('anything at all', () => {
  const seed = 20_260_728;

  it('gets an answer at both doors that is no fault of ours, and is quoted in none', async () => {
    process.stdout.write(`fuzz: seed ${seed}\n`);
    const secret = 'kanariefuzz';
    const leaf = fc.oneof(
      fc.constant(secret),
      fc.string().map((text) => secret + text),
      fc.integer(),
      fc.constant(null),
    );
    const json = fc.oneof(
      leaf,
      fc.array(leaf, { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('name', 'arguments', '_meta', 'input', 'confirm', '__proto__', secret), leaf),
    );
    const message = fc.record(
      {
        jsonrpc: fc.oneof(fc.constant('2.0'), leaf),
        id: fc.oneof(fc.integer(), fc.constant('a')),
        method: fc.constantFrom('tools/call', 'tools/list', 'initialize', 'server/discover', 'ping', secret),
        params: json,
        input: json,
      },
      { requiredKeys: [] },
    );
    const body = fc.oneof(
      message.map((value) => JSON.stringify(value)),
      fc.tuple(message, fc.nat(120)).map(([value, end]) => JSON.stringify(value).slice(0, end)),
      json.map((value) => JSON.stringify(value)),
      fc.string({ unit: 'binary' }).map((text) => secret + text),
    );
    const path = fc.constantFrom(
      '/mcp',
      '/mcp/agent',
      '/v1/operations/job_submit',
      '/v1/operations/task_start',
      '/v1/operations/exposure_set',
      '/v1/operations/odd.flood',
      `/v1/operations/${secret}`,
    );
    const type = fc.constantFrom(
      'application/json',
      'application/json',
      'text/plain',
      'application/json; charset=utf-16',
      secret,
    );
    const version = fc.constantFrom('2026-07-28', '2025-11-25', secret);
    await fc.assert(
      fc.asyncProperty(path, type, version, body, async (at, contentType, revision, text) => {
        const token = at === '/mcp' ? fleet.assistant.token : at === '/mcp/agent' ? agent.token : fleet.admin.token;
        const answer = await postMessage(`${fleet.proxy.url}${at}`, token, text, {
          'content-type': contentType,
          'mcp-protocol-version': revision,
        });
        expect(answer.status).toBeGreaterThanOrEqual(200);
        expect(answer.status).toBeLessThan(500);
        if (answer.status !== 202) expect(answer.body).toEqual(expect.any(Object));
        if (answer.status >= 400 || answer.text.includes('"error"')) expect(answer.text).not.toContain(secret);
      }),
      { seed, numRuns: 1_500 },
    );
    expect(await traces(secret)).toEqual([]);
  });
});
