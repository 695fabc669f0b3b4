import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server as HttpServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { newId } from '#contracts';
import { buildOnce } from '../../../../../test/support/build.js';
import type { Enclosure } from '../../process/guarded-tree.js';
import { instantOf, machineClock } from '../../process/monotonic.js';
import type { ProviderEvent } from '../events.js';
import { providers } from '../index.js';
import type { ProviderSession } from '../port.js';

/** Each test starts several processes; on a busy machine that takes its time. */
jest.setTimeout(30_000);

let folder: string;
let workspace: string;
let door: Door;
const sessions: ProviderSession[] = [];

beforeAll(async () => {
  await buildOnce();
  folder = await mkdtemp(join(tmpdir(), 'longshore-scripted-'));
  door = await openDoor();
});
beforeEach(async () => {
  door.calls.length = 0;
  workspace = join(folder, newId());
  await mkdir(join(workspace, '.state'), { recursive: true });
});
afterEach(async () => {
  for (const session of sessions.splice(0)) await session.stop({ graceMs: 0 });
});
afterAll(async () => {
  door.close();
  await rm(folder, { recursive: true, force: true });
});

describe('the scripted provider', () => {
  it('does its steps in the workspace and through the member door, and stops where it must', async () => {
    const session = await start(`
steps:
  - say: I look around.
  - write: {path: src/a.txt, content: "one two"}
  - edit: {path: src/a.txt, find: two, replace: three}
  - run: cat src/a.txt && exit 3
  - run: {command: [pwd], must_pass: true}
  - usage: {input_tokens: 5, cost_usd: 0.5}
  - call: {operation: set_work_plan, input: {steps: []}}
  - call: {operation: checkpoint, input: {outcome: green, summary: Done}}
  - write: {path: never.txt, content: "no"}
`);
    const events = await untilTurnEnd(session);

    expect(events).toMatchObject([
      { type: 'session', ref: session.ref },
      { type: 'message', text: 'I look around.' },
      { type: 'tool_call', name: 'write', input: 'src/a.txt' },
      { type: 'tool_result', name: 'write', ok: true },
      { type: 'tool_call', name: 'edit' },
      { type: 'tool_result', name: 'edit', ok: true },
      { type: 'tool_call', name: 'run' },
      { type: 'tool_result', name: 'run', ok: false, text: 'one three\nexit 3' },
      { type: 'tool_call', name: 'run' },
      { type: 'tool_result', name: 'run', ok: true, text: expect.stringContaining(workspace) },
      { type: 'usage', requests: 1, input_tokens: 5, output_tokens: 0, cost_usd: 0.5 },
      { type: 'tool_call', name: 'set_work_plan' },
      { type: 'tool_result', name: 'set_work_plan', ok: true },
      { type: 'tool_call', name: 'checkpoint' },
      { type: 'tool_result', name: 'checkpoint', ok: true },
      { type: 'turn_end', how: 'finished' },
    ]);
    expect(door.calls).toEqual([
      { name: 'set_work_plan', arguments: { steps: [] }, authorization: `Bearer ${token}` },
      { name: 'checkpoint', arguments: { outcome: 'green', summary: 'Done' }, authorization: `Bearer ${token}` },
    ]);
    expect(await readdir(workspace)).toEqual(['.state', 'src']);

    await expect(session.stop()).resolves.toEqual({ empty: true });
    expect(await rest(session)).toEqual([{ type: 'exit', code: null, signal: 'SIGTERM' }]);
  });

  it('goes on in the same session after a reminder, and then says something else', async () => {
    const session = await start(`
steps: [{say: first}, end, {say: never}]
on_reminder:
  - {when: {reminder: 1}, say: once reminded}
  - {when: {reminder: 2}, call: {operation: checkpoint, input: {outcome: green, summary: Done}}}
on_continuation: [{say: continued}]
`);
    expect(said(await untilTurnEnd(session))).toEqual(['first']);
    const { ref } = session;
    await session.say({ kind: 'reminder', count: 1, text: 'Hand over.' });
    expect(said(await untilTurnEnd(session))).toEqual(['once reminded']);
    await session.say({ kind: 'continuation', text: 'Go on.' });
    expect(said(await untilTurnEnd(session))).toEqual(['continued']);
    await session.say({ kind: 'reminder', count: 2, text: 'Hand over.' });
    await untilTurnEnd(session);
    expect(door.calls).toHaveLength(1);
    expect(session.ref).toBe(ref);
  });

  it('does in each round what fits: by the continuation, the member and what it is told; else its steps', async () => {
    const script = `
rounds:
  - {when: {continuation: none}, steps: [{say: one}, {when: {member: other}, say: not mine}, {when: {member: [me, other]}, say: mine}]}
  - {when: {continuation: delegation_wave_settled, told: "<n>2</n>"}, steps: [{say: two}]}
  - {when: {continuation: delegation_wave_settled}, steps: [{say: three}]}
steps: [{say: else}]
`;
    const play = async (wish: Wish) => said(await untilTurnEnd(await start(script, { member: 'me', ...wish })));
    expect(await play({})).toEqual(['one', 'mine']);
    expect(await play({ continuation: 'delegation_wave_settled', facts: '<n>2</n>' })).toEqual(['two']);
    expect(await play({ continuation: 'delegation_wave_settled' })).toEqual(['three']);
    expect(await play({ continuation: 'semantic_retry' })).toEqual(['else']);
    const none = await start('rounds: [{when: {member: other}, steps: [{say: never}]}]');
    expect(await rest(none)).toMatchObject([{ type: 'failed', failure: { class: 'invalid' } }, { type: 'exit' }]);
  });

  it('does other steps at another epoch and for another continuation', async () => {
    const script = `
steps:
  - {when: {epoch: 1}, hang: }
  - {when: {epoch: [2, 3], continuation: none}, say: finished}
  - {when: {continuation: semantic_retry}, say: tried again}
`;
    const first = await start(script, { epoch: 1 });
    const second = await start(script, { epoch: 2 });
    const retried = await start(script, { epoch: 2, continuation: 'semantic_retry' });
    expect(said(await untilTurnEnd(second))).toEqual(['finished']);
    expect(said(await untilTurnEnd(retried))).toEqual(['tried again']);
    await first.interrupt();
    expect(await untilTurnEnd(first)).toMatchObject([{ type: 'session' }, { type: 'turn_end', how: 'interrupted' }]);
  });

  it('H22 takes 300 KiB by stdin and shows nothing of prompt, token and environment in any command line', async () => {
    const canary = `canary-${newId()}`;
    const filler = `# ${canary} ${'x'.repeat(300 * 1024)}\n`;
    const session = await start(`${filler}steps: [{run: "sleep 0.01"}, {say: here}, hang]`, {
      token: canary,
      environment: { SECRET: canary },
    });
    await untilEvent(session, (event) => event.type === 'message');

    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')));
    expect(lines.filter((line) => line.includes('scripted-agent'))).not.toEqual([]);
    expect(lines.filter((line) => line.includes(canary))).toEqual([]);
  });

  it('keeps the token of the member door in a file of mode 0600 until the session has begun', async () => {
    const modes: number[] = [];
    const session = await start('steps: [hang]', {
      // Called when all is laid out and nothing has been started.
      enclosure(command) {
        for (const file of readdirSync(join(workspace, '.state')).filter((name) => name.startsWith('member-door')))
          modes.push(statSync(join(workspace, '.state', file)).mode);
        return command;
      },
    });
    expect(modes.map((mode) => mode & 0o777)).toEqual([0o600]);
    await untilEvent(session, (event) => event.type === 'session');
    await until(async () =>
      (await readdir(join(workspace, '.state'))).every((file) => !file.startsWith('member-door')),
    );
  });

  it('reports a crash that nobody asked for, and an answer that never came as uncertain', async () => {
    const session = await start('steps: [{say: here}, {wait: {signal: SIGUSR2}}, crash]');
    await untilEvent(session, (event) => event.type === 'message');
    process.kill(session.tree.pid, 'SIGSTOP');
    const steered = session.steer('Faster.');
    process.kill(session.tree.pid, 'SIGKILL');
    await expect(steered).resolves.toBe('uncertain');
    expect(await rest(session)).toEqual([
      { type: 'failed', failure: { class: 'crash', detail: "The provider's process ended by SIGKILL." } },
      { type: 'exit', code: null, signal: 'SIGKILL' },
    ]);
    await expect(session.steer('Hello?')).resolves.toBe('not_running');

    const other = await start('steps: [crash]');
    expect((await rest(other)).map((event) => event.type)).toEqual(['session', 'failed', 'exit']);
  });

  it('leaves the session waiting after a limit, and ends it after any other failure, which is not a crash', async () => {
    const limited = await start(
      `steps: [{fail: {class: rate_limit, retry_after_ms: 70}}]\non_continuation: [{say: again}]`,
    );
    expect(await untilTurnEnd(limited)).toMatchObject([
      { type: 'session' },
      { type: 'failed', failure: { class: 'rate_limit', retry_after_ms: 70 } },
      { type: 'turn_end', how: 'failed' },
    ]);
    await limited.say({ kind: 'continuation', text: 'Go on.' });
    expect(said(await untilTurnEnd(limited))).toEqual(['again']);

    const loggedOut = await start('steps: [{fail: {class: auth, refuse_start: true}}]');
    expect(await rest(loggedOut)).toMatchObject([
      { type: 'failed', failure: { class: 'auth' } },
      { type: 'exit', code: 1 },
    ]);
  });

  it('refuses a script that does not hold, with every mistake', async () => {
    const session = await start('steps:\n  - shout: hello\n  - say: 7\n');
    expect(await rest(session)).toMatchObject([
      {
        type: 'failed',
        failure: { class: 'invalid', detail: expect.stringMatching(/line 2: .*shout[\s\S]*line 3: /) },
      },
      { type: 'exit' },
    ]);
  });

  it('says what it needs where there is no script', async () => {
    const session = await start('Please fix the test.');
    await untilTurnEnd(session);
    expect(door.calls).toMatchObject([{ name: 'checkpoint', arguments: { outcome: 'blocked' } }]);
  });

  it('ends the turn when the door refuses, unless the script goes on', async () => {
    const session = await start(
      'steps: [{call: {operation: nothing, go_on: true}}, {call: {operation: nothing}}, {say: never}]',
    );
    const events = await untilTurnEnd(session);
    expect(events.filter((event) => event.type === 'tool_result')).toMatchObject([{ ok: false }, { ok: false }]);
    expect(events.at(-1)).toEqual({ type: 'turn_end', how: 'failed' });
    expect(said(events)).toEqual([]);
  });

  it('takes a steer and an interruption while a turn runs, and neither afterwards', async () => {
    const session = await start('steps: [{say: here}, hang]');
    await untilEvent(session, (event) => event.type === 'message');
    const heard = session.steer('Use tabs.');
    await untilEvent(session, (event) => event.type === 'message' && event.text.includes('Use tabs.'));
    await expect(heard).resolves.toBe('delivered');
    const stopped = session.interrupt();
    await untilTurnEnd(session);
    await expect(stopped).resolves.toBe('delivered');
    await expect(session.steer('And spaces.')).resolves.toBe('not_running');
    await expect(session.interrupt()).resolves.toBe('not_running');
    await session.stop({ graceMs: 0 });
    expect(await rest(session)).toMatchObject([{ type: 'exit' }]);
  });
});

describe('a scripted session under its guardian', () => {
  it('is the same session after it was frozen and thawed', async () => {
    const session = await start('steps: [{say: before}, {wait: {file: go}}, {say: after}]');
    await untilEvent(session, (event) => event.type === 'message');
    const { ref } = session;
    const { pid } = session.tree;
    await session.tree.freeze();
    await writeFile(join(workspace, 'go'), '');
    const next = untilTurnEnd(session);
    expect(await statOf(pid)).toBe('T');

    await expect(session.tree.thaw(lease())).resolves.toBe('running');

    expect(said(await next)).toEqual(['after']);
    expect(session.ref).toBe(ref);
    expect(session.tree.pid).toBe(pid);
  });

  it('P4 is killed after the grace when it is deaf', async () => {
    const session = await start('steps: [{hang: {deaf: true}}]');
    await untilEvent(session, (event) => event.type === 'message');
    await expect(session.stop({ graceMs: 100 })).resolves.toEqual({ empty: true });
    expect(await rest(session)).toEqual([{ type: 'exit', code: null, signal: 'SIGKILL' }]);
  });

  it('W15 leaves no grandchild that ignores TERM and writes after the end, though it holds the output open', async () => {
    const session = await start('steps: [{grandchild: {writes: late.txt}}, {say: here}, hang]');
    const events = await untilEvent(session, (event) => event.type === 'message');
    const pid = Number(events.flatMap((event) => (event.type === 'tool_result' ? [event.text] : []))[0]);
    expect(await statOf(pid)).not.toBe('gone');

    await expect(session.stop({ graceMs: 300 })).resolves.toEqual({ empty: true });

    expect(await statOf(pid)).toBe('gone');
    const written = await readFile(join(workspace, 'late.txt'), 'utf8');
    expect(written).toContain('still here');
    await pause(100);
    expect(await readFile(join(workspace, 'late.txt'), 'utf8')).toBe(written);
    expect(await rest(session)).toMatchObject([{ type: 'exit' }]);
  });

  it('ends what a crashed provider left, without being told', async () => {
    const session = await start('steps: [grandchild, crash]', { graceMs: 100 });
    const events = await rest(session);
    const pid = Number(events.flatMap((event) => (event.type === 'tool_result' ? [event.text] : []))[0]);
    expect(events.at(-1)).toEqual({ type: 'exit', code: null, signal: 'SIGKILL' });
    expect(await statOf(pid)).toBe('gone');
  });

  it.each(['noise', 'line', 'messages', 'stderr'])('lives through a flood (%s)', async (as) => {
    const session = await start(`steps: [{flood: {bytes: 8000000, as: ${as}}}, {say: dry}]`);
    let last = '';
    for await (const event of session.events) {
      if (event.type === 'message') last = event.text;
      if (event.type === 'turn_end') break;
    }
    expect(last).toBe('dry');
    expect(session.diagnostics().length).toBeLessThanOrEqual(16 * 1024);
  });

  it('holds up a provider that writes more than is read', async () => {
    const session = await start('steps: [{flood: {bytes: 64000000, as: messages}}]');
    await untilEvent(session, (event) => event.type === 'message');
    let written = -1;
    await until(async () => {
      const before = written;
      written = await writtenBy(session.tree.pid);
      return written === before;
    });
    expect(written).toBeLessThan(8_000_000);
    await expect(session.stop({ graceMs: 0 })).resolves.toEqual({ empty: true });
  });
});

const token = 'door-token';

function lease() {
  return { sentAt: instantOf(machineClock), leaseMs: 600_000 };
}

interface Wish {
  readonly epoch?: number;
  readonly continuation?: string;
  /** Elements of the continuation beside its kind. */
  readonly facts?: string;
  readonly member?: string;
  readonly token?: string;
  readonly environment?: Record<string, string>;
  readonly graceMs?: number;
  readonly enclosure?: Enclosure;
}

async function start(prompt: string, wish: Wish = {}): Promise<ProviderSession> {
  const escaped = prompt.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const because =
    wish.continuation === undefined
      ? ''
      : `<continuation><kind>${wish.continuation}</kind>${wish.facts ?? ''}</continuation>`;
  const self = wish.member === undefined ? '' : `<current_member><id>${wish.member}</id></current_member>`;
  const session = await providers.get('scripted')?.start({
    marker: { worker: 'w_00000000', job: newId(), epoch: wish.epoch ?? 1 },
    lease: lease(),
    workspace,
    stateFolder: join(workspace, '.state'),
    instructions: '<system>Be kind.</system>',
    input: `<request>${self}<assignment><prompt>${escaped}</prompt></assignment>${because}</request>`,
    repositoryInstructions: true,
    memberDoor: { url: door.url, token: wish.token ?? token },
    environment: { PATH: process.env.PATH ?? '', ...wish.environment },
    graceMs: wish.graceMs ?? 2_000,
    ...(wish.enclosure === undefined ? {} : { enclosure: wish.enclosure }),
  });
  if (session === undefined) throw new Error('There is no scripted provider.');
  sessions.push(session);
  return session;
}

async function untilEvent(
  session: ProviderSession,
  wanted: (event: ProviderEvent) => boolean,
): Promise<ProviderEvent[]> {
  const seen: ProviderEvent[] = [];
  for await (const event of session.events) {
    seen.push(event);
    if (wanted(event)) return seen;
  }
  throw new Error(`The session ended before that: ${JSON.stringify(seen)}`);
}

const untilTurnEnd = (session: ProviderSession) => untilEvent(session, (event) => event.type === 'turn_end');

async function rest(session: ProviderSession): Promise<ProviderEvent[]> {
  const seen: ProviderEvent[] = [];
  for await (const event of session.events) seen.push(event);
  return seen;
}

const said = (seen: readonly ProviderEvent[]) =>
  seen.flatMap((event) => (event.type === 'message' ? [event.text] : []));

interface Door {
  readonly url: string;
  readonly calls: { name: string; arguments: unknown; authorization: string | undefined }[];
  close(): void;
}

/** A member door of its own: a real MCP server that keeps what it was asked. */
async function openDoor(): Promise<Door> {
  const calls: Door['calls'] = [];
  const http: HttpServer = createServer(async (request, response) => {
    const server = new Server({ name: 'door', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [] }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
      if (params.name === 'nothing') return { isError: true, content: [{ type: 'text', text: 'illegal_state' }] };
      calls.push({ name: params.name, arguments: params.arguments, authorization: request.headers.authorization });
      const structuredContent = { must_stop: params.name === 'checkpoint' };
      return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
    });
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    const connectable: object = transport;
    if (isTransport(connectable)) await server.connect(connectable);
    await transport.handleRequest(request, response);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const address = http.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/_internal/node/mcp`,
    calls,
    close: () => {
      http.close();
      http.closeAllConnections();
    },
  };
}

/** The SDK's class does not fit its own interface under exactOptionalPropertyTypes. */
function isTransport(value: object): value is Parameters<Server['connect']>[0] {
  return 'start' in value && 'send' in value && 'close' in value;
}

/** /proc tells nobody of its changes, so it is asked; at most 20 s. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let look = 0; look < 200; look += 1) {
    if (await holds()) return;
    await pause(100);
  }
  throw new Error('It never came to hold.');
}

async function statOf(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  const state = text?.slice(text.lastIndexOf(')') + 2)[0];
  return state === undefined || state === 'Z' ? 'gone' : state;
}

async function writtenBy(pid: number): Promise<number> {
  return Number(/^wchar: (\d+)/m.exec(await readFile(`/proc/${pid}/io`, 'utf8'))?.[1]);
}
