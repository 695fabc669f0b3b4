import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { codexProvider } from '../../apps/worker/src/provider/codex/codex-provider.js';
import type { SessionAccount } from '../../apps/worker/src/provider/port.js';
import { calls, fails, handsOver, says } from '../support/model-server/script.js';
import { allCommandLines, processesMarked } from '../support/processes-of.js';
import { tempDir } from '../support/temp-dir.js';
import { waitUntil } from '../support/wait-until.js';
import { aCli, codexCli, describeCli } from './a-cli.js';
import { aDoor } from './a-door.js';
import { aSession } from './a-session.js';
import { aRepository, sessionStage } from './session-stage.js';

const program = await aCli(codexCli);

describeCli(codexCli, program, (codex) => {
  const key = 'sk-proj-canary-of-a-key';
  const account = (more: Partial<SessionAccount> = {}): SessionAccount => ({
    name: 'test',
    environment: {},
    secrets: { OPENAI_API_KEY: key },
    upstream: `${stage.model.url}/v1`,
    billing: 'metered',
    ...more,
  });
  const shell = (cmd: string) => ({ name: 'exec_command', input: { cmd } });

  const stage = sessionStage(codexProvider, () => ({ program: codex, account: account(), model: 'gpt-5.2-codex' }));
  const { start, keep } = stage;

  it('tells a turn as events: session, messages, tools, what each step used, and its end', async () => {
    const started = await start('turn', [
      [
        says('I look around.', { tools: [shell('echo hi; echo there > a.txt')] }),
        calls(shell('exit 3')),
        handsOver('Done.'),
        says('Over.', { cached_tokens: 50 }),
      ],
    ]);
    const events = await started.untilType('turn_end');
    expect(events.filter(({ type }) => type !== 'usage')).toMatchObject([
      { type: 'session', ref: started.session.ref },
      { type: 'message', text: 'I look around.' },
      { type: 'tool_call', name: 'shell', input: expect.stringContaining('echo hi') },
      { type: 'tool_result', name: 'shell', ok: true, text: 'hi\n' },
      { type: 'tool_call', name: 'shell' },
      { type: 'tool_result', name: 'shell', ok: false },
      { type: 'tool_call', name: 'longshore.checkpoint' },
      { type: 'tool_result', name: 'longshore.checkpoint', ok: true },
      { type: 'message', text: 'Over.' },
      { type: 'turn_end', how: 'finished' },
    ]);
    const used = events.filter(({ type }) => type === 'usage');
    expect(used).toHaveLength(4);
    expect(used.at(-1)).toEqual({
      ...{ type: 'usage', requests: 1, input_tokens: 150, output_tokens: 10, cache_read_tokens: 50 },
      model: 'gpt-5.2-codex',
    });
    expect(stage.door.calls).toEqual([{ name: 'checkpoint', arguments: { summary: 'Done.', outcome: 'green' } }]);
    expect(readFileSync(join(started.request.workspace, 'a.txt'), 'utf8')).toBe('there\n');
  });

  it('H22 takes a prompt of 300 KiB by stdin; neither it nor a secret is in any command line', async () => {
    const long = `${'All work and no play. '.repeat(14_000)} canary-of-the-prompt`;
    const started = await start('long', [[{ ...says('Read it.'), midway: 'long' }]], {
      input: long,
      instructions: 'canary-of-the-instructions',
    });
    await stage.model.gates.reached('long');
    const lines = allCommandLines().join('\n');
    expect(lines).toContain('sandbox_mode');
    for (const secret of ['canary-of-the', key, stage.door.token]) expect(lines).not.toContain(secret);
    stage.model.gates.release('long');
    await started.untilType('turn_end');
    const [asked] = stage.model.of('long');
    expect(asked?.text.length).toBeGreaterThan(300 * 1024);
    for (const part of ['canary-of-the-prompt', 'canary-of-the-instructions']) expect(asked?.text).toContain(part);
  });

  it('H34 keeps the token of the member door out of every file and every environment of the session', async () => {
    const started = await start('door', [[calls(shell('env')), { ...says('Hello'), midway: 'door' }]]);
    const events = await started.untilType('tool_result');
    expect(events.at(-1)).toMatchObject({ text: expect.stringContaining('LONGSHORE_JOB=') });
    expect(JSON.stringify(events)).not.toContain(stage.door.token);
    await stage.model.gates.reached('door');
    for (const pid of processesMarked(started.request.marker.worker))
      expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain(stage.door.token);
    for (const file of filesBeneath(started.request.stateFolder))
      expect(readFileSync(file, 'latin1').includes(stage.door.token) ? file : undefined).toBeUndefined();
    stage.model.gates.release('door');
    await started.untilType('turn_end');
    expect(stage.door.refused()).toBe(0);
  });

  it('offers nothing of its own that goes around the team or the egress list, and asks for no sandbox', async () => {
    const started = await start('tools', [[says('Hello')]]);
    await started.untilType('turn_end');
    const [asked] = stage.model.of('tools');
    expect(toolsOf(asked?.body)).toEqual(
      [
        ...['exec_command', 'write_stdin', 'view_image', 'request_user_input', 'mcp__longshore'],
        ...['list_mcp_resources', 'list_mcp_resource_templates', 'read_mcp_resource'],
      ].sort(),
    );
    expect(asked?.text).toContain('`sandbox_mode` is `danger-full-access`');
  });

  it('offers no sub-agents with the model that it chooses itself, either, and the member door in what that runs', async () => {
    const started = await aSession(codexProvider, stage.door, {
      program: codex,
      account: account(),
      input: 'canary-of-its-own',
    });
    keep(started);
    await started.untilType('turn_end');
    const asked = stage.model.requests.findLast(({ text }) => text.includes('canary-of-its-own'));
    expect(asked?.text).not.toMatch(/spawn_agent|followup_task|multi_agent_role/);
    expect(asked?.text).toMatch(/longshore/);
  });

  it.each([true, false])('reads instructions of the repository only where it is told to (%s)', async (on) => {
    const started = await start(`repository-${on}`, [[says('Hello')]], {
      repositoryInstructions: on,
      ...aRepository({
        'AGENTS.md': 'canary-of-agents-md',
        '.agents/skills/knit/SKILL.md': '---\nname: knit\ndescription: canary-of-skill\n---\nKnit.\n',
        '.codex/config.toml': 'model = "canary-of-model"\n[mcp_servers.theirs]\nurl = "http://127.0.0.1:1/"\n',
      }),
    });
    await started.untilType('turn_end');
    const [asked] = stage.model.of(`repository-${on}`);
    for (const canary of ['canary-of-agents-md', 'canary-of-skill']) expect(asked?.text.includes(canary)).toBe(on);
    expect(asked?.text).not.toContain('canary-of-model');
    expect(toolsOf(asked?.body)).toContain('mcp__longshore');
    expect(toolsOf(asked?.body)).not.toContain('mcp__theirs');
  });

  it('trusts no repository, and reads nothing of the settings and servers of the owner', async () => {
    const owned = tempDir('codex');
    const other = await aDoor();
    writeFileSync(
      join(owned, 'config.toml'),
      `model = "canary-of-model"\n[mcp_servers.owned]\nurl = "${other.url}"\nhttp_headers = { Authorization = "Bearer ${other.token}" }\n`,
    );
    const started = await start('owner', [[says('Hello')]], {
      account: account({ environment: { CODEX_HOME: owned } }),
      ...aRepository({ '.git/HEAD': 'ref: refs/heads/main\n', '.git/config': '[core]\n' }),
    });
    await started.untilType('turn_end');
    other.close();
    expect(readdirSync(owned)).toEqual(['config.toml']);
    expect(
      filesBeneath(started.request.stateFolder)
        .map((file) => readFileSync(file, 'latin1'))
        .join(),
    ).not.toContain('trust_level');
    const [asked] = stage.model.of('owner');
    expect(asked?.text).not.toContain('canary-of-model');
    expect(toolsOf(asked?.body)).not.toContain('mcp__owned');
  });

  it('goes on in the same session after a reminder, and can be resumed when its process is gone', async () => {
    const started = await start('again', [
      [says('I am done.'), handsOver('Done.'), says('Over.'), says('Back again.')],
    ]);
    await started.untilType('turn_end');
    await expect(started.session.say({ kind: 'reminder', count: 1, text: 'Hand over.' })).resolves.toBe('delivered');
    const second = await started.untilType('turn_end');
    expect(second.map(({ type }) => type).filter((type) => type !== 'usage')).toEqual([
      ...['tool_call', 'tool_result', 'message', 'turn_end'],
    ]);
    const { ref = '' } = started.session;
    await started.session.stop();
    expect((await started.rest()).map(({ type }) => type)).toEqual(['exit']);

    const resumed = await aSession(codexProvider, stage.door, {
      ...started.request,
      input: 'And now?',
      resume: { ref },
    });
    keep(resumed);
    expect(await resumed.untilType('turn_end')).toMatchObject([
      { type: 'session', ref },
      { type: 'message', text: 'Back again.' },
      { type: 'usage', requests: 1, input_tokens: 100 },
      { type: 'turn_end' },
    ]);
    expect(stage.model.of('again').at(-1)?.text).toContain('I am done.');
  });

  it('refuses to resume a session that is not there', async () => {
    const started = await start('gone', [[says('Never')]], {
      resume: { ref: '00000000-0000-4000-8000-000000000000' },
    });
    expect(await started.untilType('failed')).toMatchObject([{ type: 'failed', failure: { class: 'invalid' } }]);
  });

  it('steers the turn that runs, and says so only when the model has it', async () => {
    const started = await start('steer', [[calls(shell('until [ -e go ]; do sleep 0.05; done')), says('I heard.')]]);
    await started.untilType('tool_call');
    let answer: string | undefined;
    const steered = started.session.steer('Mind the gap.').then((delivery) => {
      answer = delivery;
    });
    await expect(codexProvider.availability({ program: codex, account: account() })).resolves.toBeDefined();
    expect(answer).toBeUndefined();
    writeFileSync(join(started.request.workspace, 'go'), '');
    const events = await started.untilType('turn_end');
    await steered;
    expect(answer).toBe('delivered');
    expect(events).toContainEqual({ type: 'message', text: 'I heard.' });
    expect(stage.model.of('steer')[1]?.text).toContain('Mind the gap.');
  });

  it('begins no second turn by a word that came too late for the first, and knows when none runs', async () => {
    const started = await start('late', [[says('First.'), says('Second.')]]);
    await started.untilType('turn_end');
    await expect(started.session.steer('Too late.')).resolves.toBe('not_running');
    await expect(started.session.interrupt()).resolves.toBe('not_running');
  });

  it('interrupts a turn in the middle of its answer, and goes on when it is told to', async () => {
    const started = await start('stop', [[{ ...says('A long answer.'), midway: 'never' }, says('Another.')]]);
    await stage.model.gates.reached('never');
    const reading = started.untilType('turn_end');
    await expect(started.session.interrupt()).resolves.toBe('delivered');
    const first = await reading;
    expect(first.at(-1)).toEqual({ type: 'turn_end', how: 'interrupted' });
    await waitUntil(() => stage.model.of('stop')[0]?.aborted, { what: 'the request to be given up' });
    await expect(started.session.say({ kind: 'continuation', text: 'Do the other.' })).resolves.toBe('delivered');
    expect(await started.untilType('turn_end')).toContainEqual({ type: 'message', text: 'Another.' });
  });

  it('is the same session after it stood still in the middle of an answer', async () => {
    const started = await start('still', [[{ ...says('Before and after.'), midway: 'still' }]]);
    await stage.model.gates.reached('still');
    const { tree } = started.session;
    await tree.freeze();
    stage.model.gates.release('still');
    expect(tree.state).toBe('frozen');
    await expect(tree.thaw(started.request.lease)).resolves.toBe('running');
    expect(await started.untilType('turn_end')).toContainEqual({ type: 'message', text: 'Before and after.' });
  });

  it('waits for an account whose plan is used up until the time that the model names', async () => {
    const resets = Math.floor(Date.now() / 1_000) + 3_600;
    const started = await start('limit', [
      [
        fails(429, {
          headers: {
            'x-codex-primary-used-percent': '100',
            'x-codex-primary-window-minutes': '300',
            'x-codex-primary-reset-at': String(resets),
          },
          body: { error: { type: 'usage_limit_reached', message: 'No more.', plan_type: 'plus', resets_at: resets } },
        }),
      ],
    ]);
    const events = await started.untilType('failed');
    expect(events).toMatchObject([{ type: 'session' }, { type: 'failed', failure: { class: 'rate_limit' } }]);
    const last = events.at(-1);
    const wait = last?.type === 'failed' && last.failure.class === 'rate_limit' ? last.failure.retry_after_ms : 0;
    expect(Math.abs(wait - (resets * 1_000 - Date.now()))).toBeLessThan(60_000);
  });

  it.each([
    ['auth', 401, []],
    ['invalid', 400, []],
    ['overload', 529, [{ type: 'session' }]],
  ])('tells %s apart (%i) at the first request', async (name, status, before) => {
    const started = await start(`error-${status}`, [Array.from({ length: 40 }, () => fails(status))]);
    const events = await started.untilType('failed');
    expect(events).toMatchObject([...before, { type: 'failed', failure: { class: name } }]);
    expect(JSON.stringify(events)).not.toContain('scripted model');
  });

  it('does not wait without end for a model that can not be reached', async () => {
    const started = await start('nowhere', [[]], { account: account({ upstream: 'http://127.0.0.1:1/v1' }) });
    expect((await started.untilType('failed')).at(-1)).toMatchObject({ failure: { class: 'overload' } });
  });

  it('tries again by itself when a stream is cut or the model is overloaded for a moment', async () => {
    const started = await start('cut', [[{ kind: 'cut' }, fails(529), says('Here I am.')]]);
    const events = await started.untilType('turn_end');
    expect(events).toContainEqual({ type: 'message', text: 'Here I am.' });
  });

  it('H35 gives the key of the account to no shell of the agent, and shows it in nothing that it says', async () => {
    const started = await start('leak', [
      [calls(shell(`echo "key=$OPENAI_API_KEY"; cat /proc/$PPID/environ | tr '\\0' '\\n' | grep KEY`)), says('So.')],
    ]);
    const events = await started.untilType('turn_end');
    expect(JSON.stringify(events)).not.toContain(key);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'tool_result', text: expect.stringMatching(/^key=\n/) }),
    );
  });

  it('leaves no process when it is killed in the middle, nor a command that it left in the background', async () => {
    const started = await start('killed', [[calls(shell('sleep 1000 & setsid sleep 1000'))]]);
    await started.untilType('tool_call');
    await expect(started.session.stop({ graceMs: 500 })).resolves.toEqual({ empty: true });
    expect((await started.rest()).at(-1)?.type).toBe('exit');
    expect(processesMarked(started.request.marker.worker)).toEqual([]);
  });

  it('is usable with a key or a login, and says the way out where there is none or no program', async () => {
    await expect(codexProvider.availability({ program: codex, account: account() })).resolves.toEqual({
      usable: true,
      version: codexCli.version,
    });
    const loggedOut = {
      name: 'plan',
      environment: { CODEX_HOME: tempDir('codex') },
      secrets: {},
      billing: 'plan',
    } as const;
    await expect(codexProvider.availability({ program: codex, account: loggedOut })).resolves.toMatchObject({
      usable: false,
      code: 'auth',
      fix: expect.stringContaining('longshore worker login codex'),
    });
    await expect(codexProvider.availability({ program: '/nowhere/codex' })).resolves.toMatchObject({
      usable: false,
      code: 'environment',
      fix: expect.stringContaining('npm install'),
    });
  });

  it('uses the login of its account', async () => {
    const owned = tempDir('codex');
    writeFileSync(join(owned, 'auth.json'), JSON.stringify({ auth_mode: 'apikey', OPENAI_API_KEY: key }), {
      mode: 0o600,
    });
    const login = account({ environment: { CODEX_HOME: owned }, secrets: {}, billing: 'plan' });
    const started = await start('login', [[says('Hello')]], { account: login });
    await started.untilType('turn_end');
    expect(stage.model.of('login')[0]?.headers.authorization).toBe(`Bearer ${key}`);
    expect(readdirSync(owned)).toEqual(['auth.json']);
  });

  it('takes one exec per turn where there is no app-server, and goes on by resuming', async () => {
    const old = join(tempDir('old'), 'codex');
    writeFileSync(old, `#!/bin/sh\n[ "$1" = app-server ] && exit 2\nexec "${codex}" "$@"\n`, { mode: 0o755 });
    const started = await start(
      'exec',
      [[calls(shell('echo hi; exit 4')), says('I am done.'), handsOver('Done.'), says('Over.')]],
      {
        program: old,
        instructions: 'canary-of-the-instructions',
      },
    );
    const file = join(started.request.stateFolder, 'codex', 'config.toml');
    const first = await started.rest();
    expect(first).toMatchObject([
      { type: 'session' },
      { type: 'tool_call', name: 'shell' },
      { type: 'tool_result', name: 'shell', ok: false, text: 'hi\n' },
      { type: 'message', text: 'I am done.' },
      { type: 'usage', input_tokens: 200, output_tokens: 20 },
      { type: 'turn_end', how: 'finished' },
      { type: 'exit', code: 0 },
    ]);
    expect(stage.model.of('exec')[0]?.text).toContain('canary-of-the-instructions');
    expect(filesBeneath(started.request.stateFolder)).not.toContain(file);
    const { ref = '' } = started.session;
    const resumed = await aSession(codexProvider, stage.door, {
      ...started.request,
      input: 'Hand over.',
      resume: { ref },
    });
    keep(resumed);
    const second = await resumed.rest();
    expect(second).toMatchObject([
      { type: 'session', ref },
      { type: 'tool_call', name: 'longshore.checkpoint' },
      { type: 'tool_result', ok: true },
      { type: 'message', text: 'Over.' },
      { type: 'usage', input_tokens: 200, output_tokens: 20 },
      { type: 'turn_end' },
      { type: 'exit' },
    ]);
    expect(stage.door.calls).toHaveLength(1);
  });
});

function filesBeneath(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function toolsOf(body: unknown): readonly string[] {
  const tools = z.looseObject({ tools: z.array(z.looseObject({ name: z.string().optional(), type: z.string() })) });
  return tools
    .parse(body)
    .tools.map(({ name, type }) => name ?? type)
    .sort();
}
