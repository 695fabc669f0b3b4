import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { RequestError, type RequestPermissionRequest } from '@agentclientprotocol/sdk';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '#contracts';
import { buildOnce } from '../../../../../test/support/build.js';
import { trackPid } from '../../../../../test/support/processes.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';
import { instantOf, machineClock } from '../../process/monotonic.js';
import { ProviderEvent } from '../events.js';
import type { ProviderSession } from '../port.js';
import { failureOfRequest } from './acp-failure.js';
import { acpProvider } from './acp-provider.js';
import { DoorRelay } from './door-relay.js';
import { answerPermission } from './permissions.js';

/** The least agent: does what the lines of its program say at each request, and keeps what it was told. */
const agent = `#!${process.execPath}
const { appendFileSync } = require('node:fs');
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const update = (update) => say({ method: 'session/update', params: { sessionId: 's1', update } });
const text = (words) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: words } });
const held = [];
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  appendFileSync(process.env.HEARD, line + '\\n');
  const { id, method, params } = JSON.parse(line);
  const answer = (result) => say({ id, result });
  if (method === 'initialize')
    return answer({ protocolVersion: 1, agentCapabilities: { loadSession: true } });
  if (method === 'session/new') return answer({ sessionId: 's1' });
  if (method === 'session/load') { text('told again'); return answer({}); }
  if (method === 'session/cancel') return held.splice(0).forEach((one) => say({ id: one, result: { stopReason: 'cancelled' } }));
  if (method !== 'session/prompt') return;
  const asked = params.prompt.at(-1).text;
  if (asked === 'hold') { text('Working.'); return held.push(id); }
  if (asked === 'fail') return say({ id, error: { code: -32603, message: 'API 529 overloaded at https://secret.example' } });
  if (asked === 'crash') { text('Oh'); return process.exit(3); }
  process.stdout.write('a stray print\\n');
  update({ sessionUpdate: 'invented_next_year', anything: 1 });
  say({ method: '_agent/extra', params: {} });
  say({ id: 'q', method: 'fs/read_text_file', params: { sessionId: 's1', path: '/etc/passwd' } });
  text('One '); text('word.');
  update({ sessionUpdate: 'tool_call', toolCallId: 't', title: 'Run it', kind: 'execute', rawInput: { command: 'ls' } });
  update({ sessionUpdate: 'tool_call_update', toolCallId: 't', status: 'in_progress' });
  update({ sessionUpdate: 'tool_call_update', toolCallId: 't', status: 'failed', content: [{ type: 'content', content: { type: 'text', text: 'no token-of-the-door' } }] });
  update({ sessionUpdate: 'usage_update', used: 5, size: 100, cost: { amount: 0.5, currency: 'USD' } });
  answer({ stopReason: 'end_turn' });
});
`;

const sessions: ProviderSession[] = [];

beforeAll(() => buildOnce());
afterEach(async () => {
  for (const session of sessions.splice(0)) await session.stop({ graceMs: 0 });
});

async function start(input: string, more: { readonly resume?: string; readonly isolated?: boolean } = {}) {
  const folder = tempDir('acp');
  const program = join(folder, 'agent');
  writeFileSync(program, agent, { mode: 0o755 });
  mkdirSync(join(folder, 'state'));
  const session = await acpProvider.start({
    marker: { worker: 'w_00000000', job: newId(), epoch: 1 },
    lease: { sentAt: instantOf(machineClock), leaseMs: 600_000 },
    workspace: folder,
    stateFolder: join(folder, 'state'),
    instructions: 'Be kind.',
    input,
    memberDoor: { url: 'http://127.0.0.1:1/', token: 'token-of-the-door' },
    environment: { PATH: process.env.PATH ?? '', HEARD: join(folder, 'heard') },
    repositoryInstructions: more.isolated !== true,
    program,
    ...(more.resume === undefined ? {} : { resume: { ref: more.resume } }),
  });
  sessions.push(session);
  trackPid(session.tree.pid);
  trackPid(session.tree.guardianPid);
  const source = session.events[Symbol.asyncIterator]();
  const until = async (type: ProviderEvent['type']): Promise<readonly ProviderEvent[]> => {
    const seen: ProviderEvent[] = [];
    for (let next = await source.next(); next.done !== true; next = await source.next()) {
      seen.push(ProviderEvent.parse(next.value));
      if (next.value.type === type) break;
    }
    return seen;
  };
  const heard = () =>
    readFileSync(join(folder, 'heard'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { session, until, heard };
}

/** What the relay answers to these messages, and when the door has heard so many. */
async function said(
  server: DoorRelay['server'],
  messages: readonly object[],
  toHear: number,
  heard: () => number,
): Promise<readonly unknown[]> {
  if (!('command' in server)) throw new Error('no program');
  let out = '';
  const child = execFile(server.command, server.args);
  child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  for (const message of messages) child.stdin?.write(`${JSON.stringify(message)}\n`);
  await waitUntil(() => out.includes('\n') && heard() >= toHear, { what: 'the relay' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.stdin?.end();
  expect(await ended).toBe(0);
  return out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('a session with an agent that speaks ACP', () => {
  it('tells a turn as events, whatever else the agent writes', async () => {
    const { session, until, heard } = await start('work');
    expect(await until('turn_end')).toEqual([
      { type: 'session', ref: 's1' },
      { type: 'message', text: 'One word.' },
      { type: 'tool_call', name: 'Run it', input: '{"command":"ls"}' },
      { type: 'tool_result', name: 'Run it', ok: false, text: 'no ***' },
      { type: 'usage', requests: 1, input_tokens: 0, output_tokens: 0, cost_usd: 0.5 },
      { type: 'turn_end', how: 'finished' },
    ]);
    expect(session.ref).toBe('s1');
    expect(heard().flatMap(({ method }) => method ?? [])).toEqual(['initialize', 'session/new', 'session/prompt']);
    expect(heard()[0].params.clientCapabilities).toMatchObject({ fs: { writeTextFile: false }, terminal: false });
    // The turn may be over before the agent has read it.
    await waitUntil(() => heard().some(({ id }) => id === 'q'), { what: 'the answer to be heard' });
    expect(heard().find(({ id }) => id === 'q')).toMatchObject({ error: { code: -32_601 } });
    expect(heard()[2].params.prompt).toMatchObject([{ text: 'Be kind.' }, { text: 'work' }]);
  });

  it('keeps what comes into a turn that is cancelled for whoever said it', async () => {
    const { session, until } = await start('hold');
    const steered = session.steer('Mind the gap.');
    const turn = until('turn_end');
    await expect(session.interrupt()).resolves.toBe('not_running');
    const waiting = (async () => {
      // the session has to be there before a turn can be cancelled
      for (let answer = 'not_running'; answer !== 'delivered'; answer = await session.interrupt())
        await new Promise((resolve) => setImmediate(resolve));
    })();
    expect((await turn).at(-1)).toEqual({ type: 'turn_end', how: 'interrupted' });
    await waiting;
    await expect(steered).resolves.toBe('not_running');
    await expect(session.say({ kind: 'continuation', text: 'work' })).resolves.toBe('delivered');
    expect((await until('turn_end')).at(-1)).toEqual({ type: 'turn_end', how: 'finished' });
  });

  it('hears nothing of what a loaded session was', async () => {
    const { until, heard } = await start('work', { resume: 's1' });
    expect((await until('turn_end')).slice(0, 2)).toEqual([
      { type: 'session', ref: 's1' },
      { type: 'message', text: 'One word.' },
    ]);
    expect(heard().flatMap(({ method }) => method ?? [])).toEqual(['initialize', 'session/load', 'session/prompt']);
  });

  it('tells an error by its class, without the words, and waits on', async () => {
    const { session, until } = await start('fail');
    expect(await until('turn_end')).toEqual([
      { type: 'session', ref: 's1' },
      { type: 'failed', failure: { class: 'overload', detail: "The agent's model is overloaded." } },
      { type: 'turn_end', how: 'failed' },
    ]);
    await expect(session.say({ kind: 'continuation', text: 'work' })).resolves.toBe('delivered');
  });

  it('takes an end that nobody asked for as a crash', async () => {
    const { until } = await start('crash');
    expect(await until('exit')).toEqual([
      { type: 'session', ref: 's1' },
      { type: 'message', text: 'Oh' },
      { type: 'failed', failure: { class: 'crash', detail: "The agent's process ended with code 3." } },
      { type: 'exit', code: 3, signal: null },
    ]);
  });

  it('H34 tells the agent a program that leads to the door, and no token; the file that has it goes with the session', async () => {
    const { session, until, heard } = await start('hold');
    await until('session');
    const [server] = heard()[1].params.mcpServers;
    expect(server).toMatchObject({ name: 'longshore', command: process.execPath, env: [] });
    expect(JSON.stringify(heard())).not.toContain('token-of-the-door');
    const [, file] = server.args;
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await session.stop({ graceMs: 0 });
    await until('exit');
    await waitUntil(() => !existsSync(file), { what: 'the file of the door to go' });
  });

  it('passes messages on to the door and answers back, and says so where the door is gone', async () => {
    const asked: unknown[] = [];
    const door = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (body) => {
        asked.push({ authorization: request.headers.authorization, ...JSON.parse(body) });
        if (JSON.parse(body).id === undefined) response.writeHead(202).end();
        else
          response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":1,"result":{}}');
      });
    });
    await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
    const address = door.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const stateFolder = tempDir('relay');
    const lay = (url: string) => DoorRelay.lay({ stateFolder, memberDoor: { url, token: 'token-of-the-door' } });
    const { server } = await lay(`http://127.0.0.1:${port}/mcp`);
    const messages = [
      // a separator that ends no line of JSON
      { jsonrpc: '2.0', id: 1, method: 'ping', params: { said: 'one\u2028line' } },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
    ];
    expect(await said(server, messages, 2, () => asked.length)).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
    expect(asked).toEqual(
      expect.arrayContaining(messages.map((each) => ({ authorization: 'Bearer token-of-the-door', ...each }))),
    );
    await new Promise((resolve) => door.close(resolve));
    const gone = await said((await lay(`http://127.0.0.1:${port}/mcp`)).server, messages.slice(0, 1), 0, () => 0);
    expect(gone).toMatchObject([{ id: 1, error: { code: -32_000 } }]);
  });

  it('is not started where the repository has to stay unread', async () => {
    await expect(start('work', { isolated: true })).rejects.toMatchObject({ code: 'invalid_input' });
  });
});

const offered: RequestPermissionRequest['options'] = [
  { optionId: 'a', name: 'Always', kind: 'allow_always' },
  { optionId: 'o', name: 'Once', kind: 'allow_once' },
  { optionId: 'r', name: 'No', kind: 'reject_once' },
];

describe('what an agent would ask a person', () => {
  it.each([
    [{ kind: 'execute' as const, title: 'ls' }, 'o'],
    [{ kind: 'edit' as const, title: 'a.txt' }, 'o'],
    [{ kind: 'other' as const, title: 'mcp__longshore__checkpoint' }, 'o'],
    [{ kind: 'other' as const, name: 'mcp__longshore__checkpoint', title: 'Checkpoint' }, 'o'],
    [{ kind: 'fetch' as const, title: 'https://example.com' }, 'r'],
    [{ kind: 'switch_mode' as const, title: 'Leave plan mode' }, 'r'],
    [{ kind: 'other' as const, title: 'mcp__elsewhere__send' }, 'r'],
    [{ title: 'Something' }, 'r'],
  ])('%j is answered by policy: %s', (toolCall, optionId) => {
    const asked = { sessionId: 's1', toolCall: { toolCallId: 't', ...toolCall }, options: offered };
    expect(answerPermission(asked)).toEqual({ outcome: { outcome: 'selected', optionId } });
    expect(answerPermission({ ...asked, options: [] })).toEqual({ outcome: { outcome: 'cancelled' } });
  });
});

describe('why an agent answers with an error', () => {
  it.each([
    [-32_000, 'Authentication required', 'auth'],
    [-32_603, 'API Error: 401 invalid', 'auth'],
    [-32_603, 'Error 429: rate limit', 'rate_limit'],
    [-32_603, '529 Overloaded', 'overload'],
    [-32_603, '400 invalid request', 'invalid'],
    [-32_603, 'Something', 'crash'],
  ])('%i %s is %s', (code, words, expected) => {
    const failure = failureOfRequest(new RequestError(code, `${words} at https://secret.example`));
    expect(failure.class).toBe(expected);
    expect(failure.detail).not.toContain('secret');
  });
});
