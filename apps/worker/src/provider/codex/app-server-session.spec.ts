import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '#contracts';
import { buildOnce } from '../../../../../test/support/build.js';
import { trackPid } from '../../../../../test/support/processes.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';
import { instantOf, machineClock } from '../../process/monotonic.js';
import { ProviderEvent } from '../events.js';
import type { ProviderSession, SessionAccount } from '../port.js';
import { makeSessionHome, removeFromHome } from './codex-home.js';
import { codexProvider } from './codex-provider.js';

/** Speaks the lines that Codex 0.171.0 wrote, each after what it was asked before; keeps what it is told. */
const replay = `#!${process.execPath}
const { appendFileSync, readFileSync } = require('node:fs');
if (process.argv[3] === '--help') process.exit(0);
const lines = readFileSync(process.env.REPLAY, 'utf8').trimEnd().split('\\n');
lines.shift();
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  appendFileSync(process.env.REPLAY + '.heard', line + '\\n');
  if (JSON.parse(line).result) return;
  while (lines.length > 0) {
    const next = lines.shift();
    if ('in' in JSON.parse(next)) return;
    process.stdout.write(next + '\\n');
  }
  if (process.env.THEN === 'exit') process.exit(3);
});
`;

const recorded = readFileSync(join(import.meta.dirname, 'recorded/app-server.jsonl'), 'utf8');
const sessions: ProviderSession[] = [];

beforeAll(() => buildOnce());
afterEach(async () => {
  for (const session of sessions.splice(0)) await session.stop({ graceMs: 0 });
});

async function start(lines: string, then = 'stay', account?: SessionAccount) {
  const folder = tempDir('codex');
  const program = join(folder, 'codex');
  writeFileSync(program, replay, { mode: 0o755 });
  writeFileSync(join(folder, 'lines'), lines);
  mkdirSync(join(folder, 'state'));
  const session = await codexProvider.start({
    marker: { worker: 'w_00000000', job: newId(), epoch: 1 },
    lease: { sentAt: instantOf(machineClock), leaseMs: 600_000 },
    workspace: folder,
    stateFolder: join(folder, 'state'),
    instructions: 'Be kind.',
    input: 'Do your work.',
    memberDoor: { url: 'http://127.0.0.1:1/', token: 'token-of-the-door' },
    environment: { PATH: process.env.PATH ?? '', REPLAY: join(folder, 'lines'), THEN: then },
    repositoryInstructions: true,
    program,
    ...(account === undefined ? {} : { account }),
  });
  sessions.push(session);
  trackPid(session.tree.pid);
  trackPid(session.tree.guardianPid);
  const source = session.events[Symbol.asyncIterator]();
  const until = async (type: ProviderEvent['type']): Promise<readonly ProviderEvent[]> => {
    const seen: ProviderEvent[] = [];
    for (let next = await source.next(); next.done !== true; next = await source.next()) {
      // what the farm would refuse is no event
      seen.push(ProviderEvent.parse(next.value));
      if (next.value.type === type) break;
    }
    return seen;
  };
  const heard = () =>
    readFileSync(join(folder, 'lines.heard'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { session, until, heard, home: join(folder, 'state', 'codex') };
}

describe('a session over the app-server of Codex', () => {
  it('reads a session as Codex wrote it: turns, a steer, an interruption, a limit', async () => {
    const { session, until, heard } = await start(recorded);
    const begun = await until('tool_call');
    expect(begun).toMatchObject([
      { type: 'session', ref: session.ref },
      { type: 'message', text: 'I look around.' },
      { type: 'tool_call', name: 'shell', input: expect.stringContaining('echo hi') },
    ]);
    await until('usage');
    await until('tool_call');
    await until('usage');
    await until('tool_call');
    const steered = session.steer('Mind the gap.');
    expect((await until('turn_end')).filter(({ type }) => type !== 'usage')).toMatchObject([
      { type: 'tool_result', name: 'shell', ok: true },
      { type: 'tool_call', name: 'longshore.checkpoint' },
      { type: 'tool_result', name: 'longshore.checkpoint', ok: true },
      { type: 'message', text: 'Over.' },
      { type: 'turn_end', how: 'finished' },
    ]);
    await expect(steered).resolves.toBe('delivered');
    await expect(session.steer('Too late.')).resolves.toBe('not_running');

    const reminded = session.say({ kind: 'reminder', count: 1, text: 'Hand over.' });
    await expect(reminded).resolves.toBe('delivered');
    const interrupted = session.interrupt();
    expect((await until('turn_end')).at(-1)).toEqual({ type: 'turn_end', how: 'interrupted' });
    await expect(interrupted).resolves.toBe('delivered');

    void session.say({ kind: 'continuation', text: 'Go on.' });
    expect((await until('turn_end')).slice(-2)).toMatchObject([
      { type: 'failed', failure: { class: 'rate_limit' } },
      { type: 'turn_end', how: 'failed' },
    ]);
    expect(heard().map(({ method }) => method)).toEqual([
      ...['initialize', 'initialized', 'thread/start', 'turn/start', 'turn/steer'],
      ...['turn/start', 'turn/interrupt', 'turn/start'],
    ]);
    expect(heard()[2].params).toMatchObject({
      developerInstructions: 'Be kind.',
      config: { 'mcp_servers.longshore': { http_headers: { Authorization: 'Bearer token-of-the-door' } } },
    });
    // with one of them Codex would take the repository for trusted
    expect(heard()[2].params).not.toHaveProperty('cwd');
    expect(heard()[2].params).not.toHaveProperty('sandbox');
  });

  it('answers what Codex asks of a person by policy: no, and an error for what it does not know', async () => {
    const [initialize = '', reply = ''] = recorded.split('\n');
    const questions = [
      'item/commandExecution/requestApproval',
      'item/fileChange/requestApproval',
      'mcpServer/elicitation/request',
      'item/new/question',
    ].map((method, id) => JSON.stringify({ id: `q${id}`, method, params: { anything: true } }));
    const { heard } = await start([initialize, reply, ...questions].join('\n'));
    const answers = () => heard().filter(({ id }) => String(id).startsWith('q'));
    await waitUntil(() => answers().length === questions.length, { what: 'every question to be answered' });
    expect(answers()).toMatchObject([
      { id: 'q0', result: { decision: 'decline' } },
      { id: 'q1', result: { decision: 'decline' } },
      { id: 'q2', result: { action: 'decline' } },
      { id: 'q3', error: { code: -32_601 } },
    ]);
  });

  it('H11 takes an end before any session for a fault of the machine', async () => {
    const [initialize = '', reply = ''] = recorded.split('\n');
    const { session, until } = await start([initialize, reply].join('\n'), 'exit');
    expect(await until('exit')).toMatchObject([
      { type: 'failed', failure: { class: 'environment' } },
      { type: 'exit', code: 3 },
    ]);
    await expect(session.say({ kind: 'reminder', count: 1, text: 'Hello?' })).resolves.toBe('not_running');
  });

  const lends = (lent: object) => {
    const owned = tempDir('login');
    const file = join(owned, 'auth.json');
    writeFileSync(file, JSON.stringify(lent), { mode: 0o600 });
    const account = { name: 'plan', environment: { CODEX_HOME: owned }, secrets: {}, billing: 'plan' } as const;
    return { owned, account, now: (): unknown => JSON.parse(readFileSync(file, 'utf8')) };
  };
  const login = (account_id: string, last_refresh: string, more: object = {}) => ({
    auth_mode: 'chatgpt',
    last_refresh,
    tokens: { account_id, refresh_token: last_refresh },
    ...more,
  });
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  /** Writes what an agent would into its session's login, and ends it. */
  const endsWith = async ({ session, home }: Awaited<ReturnType<typeof start>>, content: object) => {
    writeFileSync(join(home, 'auth.json'), JSON.stringify(content));
    await session.stop({ graceMs: 0 });
  };

  it('lends a login to the session and takes its tokens back renewed, and nothing else', async () => {
    const [first, second, third] = [daysAgo(3), daysAgo(2), daysAgo(1)];
    const { account, now } = lends(login('mine', first));
    const renewing = await start(recorded, 'stay', account);
    expect(JSON.parse(readFileSync(join(renewing.home, 'auth.json'), 'utf8'))).toEqual(now());
    await endsWith(renewing, login('mine', second, { OPENAI_API_KEY: 'key-of-another', auth_mode: 'apikey' }));
    await waitUntil(() => JSON.stringify(now()).includes(second), { what: 'the renewed login' });
    expect(now()).toEqual(login('mine', second));

    const refused = [login('theirs', third), login('mine', daysAgo(-1)), login('mine', first), login('mine', 'soon')];
    for (const content of refused) await endsWith(await start(recorded, 'stay', account), content);
    const last = await start(recorded, 'stay', account);
    await endsWith(last, login('mine', third));
    await waitUntil(() => JSON.stringify(now()).includes(third), { what: 'the login, which nobody swapped meanwhile' });
    expect(now()).toEqual(login('mine', third));
  });

  it('E2 follows nothing that an agent put in the place of its login: a symlink, a FIFO, a file without end', async () => {
    const [first, second, third] = [daysAgo(3), daysAgo(2), daysAgo(1)];
    const { account, now, owned } = lends(login('mine', first));
    const other = tempDir('other-login');
    writeFileSync(join(other, 'auth.json'), JSON.stringify(login('mine', second)));
    writeFileSync(join(other, 'config.toml'), 'of the owner');
    const plants: readonly ((home: string) => void)[] = [
      (home) => symlinkSync(join(other, 'auth.json'), join(home, 'auth.json')),
      (home) => execFileSync('mkfifo', [join(home, 'auth.json')]),
      (home) => writeFileSync(join(home, 'auth.json'), JSON.stringify(login('mine', second)) + ' '.repeat(1024 ** 2)),
      (home) => mkdirSync(join(home, 'auth.json')),
      (home) => {
        rmSync(home, { recursive: true });
        symlinkSync(other, home);
      },
    ];
    for (const plant of plants) {
      const { session, home } = await start(recorded, 'stay', account);
      rmSync(join(home, 'auth.json'));
      plant(home);
      removeFromHome(home, 'config.toml');
      await session.stop({ graceMs: 0 });
    }
    // comes after all of them
    await endsWith(await start(recorded, 'stay', account), login('mine', third));
    await waitUntil(() => JSON.stringify(now()).includes(third), { what: 'the login of the last session' });
    expect(readdirSync(owned)).toEqual(['auth.json']);
    expect(readdirSync(other)).toEqual(['auth.json', 'config.toml']);
  });

  it('E2 does not go on in a home that an agent replaced by a symlink', async () => {
    const { account } = lends(login('mine', daysAgo(3)));
    const [other, state] = [tempDir('other-login'), tempDir('state')];
    writeFileSync(join(other, 'auth.json'), 'of another');
    symlinkSync(other, join(state, 'codex'));
    const request = { stateFolder: state, environment: {}, account };
    await expect(makeSessionHome(request)).rejects.toMatchObject({ code: 'misconfigured' });
    expect(readFileSync(join(other, 'auth.json'), 'utf8')).toBe('of another');
  });
});
