import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { claudeProvider } from '../../apps/worker/src/provider/claude/claude-provider.js';
import type { ProviderEvent } from '../../apps/worker/src/provider/events.js';
import type { SessionAccount } from '../../apps/worker/src/provider/port.js';
import { calls, fails, handsOver, says, scriptMark } from '../support/model-server/script.js';
import { allCommandLines, processesMarked } from '../support/processes-of.js';
import { tempDir } from '../support/temp-dir.js';
import { waitUntil } from '../support/wait-until.js';
import { aCli, claudeCli, describeCli } from './a-cli.js';
import { aDoor } from './a-door.js';
import { aSession } from './a-session.js';
import { aRepository, sessionStage } from './session-stage.js';

const program = await aCli(claudeCli);

describeCli(claudeCli, program, (claude) => {
  const key = 'sk-ant-api03-canary-of-a-key';
  const account = (secrets: Readonly<Record<string, string>> = { ANTHROPIC_API_KEY: key }): SessionAccount => ({
    name: 'test',
    environment: { CLAUDE_CONFIG_DIR: tempDir('claude') },
    secrets,
    upstream: stage.model.url,
    billing: 'metered',
  });

  const stage = sessionStage(claudeProvider, () => ({ program: claude, account: account() }));
  const { start, keep } = stage;

  it('tells a turn as events: session, messages, tools, what it used at which price, and its end', async () => {
    const started = await start('turn', [
      [
        says('I look around.', { tools: [{ name: 'Bash', input: { command: 'echo hi; echo there > a.txt' } }] }),
        calls({ name: 'Read', input: { file_path: '/nothing/is/here' } }),
        handsOver('Done.'),
        says('Over.', { cached_tokens: 50 }),
      ],
    ]);
    const events = await started.untilType('turn_end');
    expect(unlessUsage(events)).toMatchObject([
      { type: 'session', ref: started.session.ref },
      { type: 'message', text: 'I look around.' },
      { type: 'tool_call', name: 'Bash', input: expect.stringContaining('echo hi') },
      { type: 'tool_result', name: 'Bash', ok: true, text: 'hi' },
      { type: 'tool_call', name: 'Read' },
      { type: 'tool_result', name: 'Read', ok: false },
      { type: 'tool_call', name: 'checkpoint' },
      { type: 'tool_result', name: 'checkpoint', ok: true },
      { type: 'message', text: 'Over.' },
      { type: 'turn_end', how: 'finished' },
    ]);
    const used = events.filter((event) => event.type === 'usage');
    expect(used.map(({ requests, input_tokens }) => [requests, input_tokens])).toEqual([
      ...[1, 1, 1].map((requests) => [requests, 100]),
      [1, 150],
      [0, 0],
    ]);
    expect(used.at(3)).toMatchObject({ model: expect.stringMatching(/^claude-/), cache_read_tokens: 50 });
    expect(used.at(-1)).toMatchObject({ pricing: 'settles', cost_usd: expect.any(Number) });
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
    for (const secret of ['canary-of-the', key, stage.door.token]) expect(lines).not.toContain(secret);
    stage.model.gates.release('long');
    await started.untilType('turn_end');
    const [asked] = stage.model.of('long');
    expect(asked?.text.length).toBeGreaterThan(300 * 1024);
    for (const part of ['canary-of-the-prompt', 'canary-of-the-instructions']) expect(asked?.text).toContain(part);
  });

  it('H34 keeps the token of the member door in a file of mode 0600 that is gone with the first turn', async () => {
    const look = calls({ name: 'Bash', input: { command: 'env; cat ../state/* 2>&1; true' } });
    const started = await start('door', [
      [{ ...says('Hello'), midway: 'door', tools: look.tools ?? [] }, says('Over.')],
    ]);
    const { stateFolder } = started.request;
    const files = readdirSync(stateFolder).map((name) => join(stateFolder, name));
    expect(files).toHaveLength(1);
    expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600]);
    await stage.model.gates.reached('door');
    await waitUntil(() => readdirSync(stateFolder).length === 0, { what: 'the file to go' });
    stage.model.gates.release('door');
    await started.untilType('turn_end');
    // what the agent's own shell shows, as the model got it
    expect(stage.model.of('door')[1]?.text).toContain('CLAUDE_CODE');
    expect(stage.model.of('door')[1]?.text).not.toContain(stage.door.token);
    expect(stage.door.refused()).toBe(0);
    expect(started.session.diagnostics()).not.toContain(stage.door.token);
  });

  it('offers nothing of its own that goes around the team: no sub-agents, no messages, no schedulers', async () => {
    const started = await start('tools', [[says('Hello')]]);
    await started.untilType('turn_end');
    const [asked] = stage.model.of('tools');
    expect(toolsOf(asked?.body)).toEqual(
      [
        ...['Bash', 'Edit', 'Glob', 'Grep', 'NotebookEdit', 'Read', 'Skill', 'WebFetch', 'WebSearch', 'Write'],
        ...['mcp__longshore__checkpoint', 'mcp__longshore__get_current_context'],
      ].sort(),
    );
  });

  it.each([true, false])(
    'reads instructions and servers of the repository only where it is told to (%s)',
    async (on) => {
      const other = await aDoor();
      const started = await start(`repository-${on}`, [[says('Hello')]], {
        repositoryInstructions: on,
        ...aRepository({
          'CLAUDE.md': 'canary-of-claude-md',
          '.claude/skills/knit/SKILL.md': '---\nname: knit\ndescription: canary-of-skill\n---\nKnit.\n',
          '.mcp.json': JSON.stringify({
            mcpServers: {
              theirs: { type: 'http', url: other.url, headers: { Authorization: `Bearer ${other.token}` } },
              longshore: { type: 'http', url: 'http://127.0.0.1:1/' },
            },
          }),
        }),
      });
      await started.untilType('turn_end');
      other.close();
      const [asked] = stage.model.of(`repository-${on}`);
      for (const canary of ['canary-of-claude-md', 'canary-of-skill']) expect(asked?.text.includes(canary)).toBe(on);
      expect(toolsOf(asked?.body).includes('mcp__theirs__checkpoint')).toBe(on);
      expect(toolsOf(asked?.body)).toContain('mcp__longshore__checkpoint');
    },
  );

  it.each([true, false])(
    'reads AGENTS.md where there is no CLAUDE.md, and only where it is told to (%s)',
    async (on) => {
      const files = aRepository({ 'AGENTS.md': 'canary-of-agents-md' });
      const started = await start(`agents-md-${on}`, [[says('Hello')]], { repositoryInstructions: on, ...files });
      await started.untilType('turn_end');
      expect(stage.model.of(`agents-md-${on}`)[0]?.text.includes('canary-of-agents-md')).toBe(on);
    },
  );

  it('goes on in the same session after a reminder, and can be resumed when its process is gone', async () => {
    const started = await start('again', [
      [says('I am done.'), handsOver('Done.'), says('Over.'), says('Back again.')],
    ]);
    await started.untilType('turn_end');
    await expect(started.session.say({ kind: 'reminder', count: 1, text: 'Hand over.' })).resolves.toBe('delivered');
    const second = await started.untilType('turn_end');
    expect(unlessUsage(second).map(({ type }) => type)).toEqual(['tool_call', 'tool_result', 'message', 'turn_end']);
    expect(second.filter((event) => event.type === 'usage' && event.requests === 1)).toHaveLength(2);
    const { ref = '' } = started.session;
    await started.session.stop();
    expect((await started.rest()).map(({ type }) => type)).toEqual(['exit']);

    const resumed = await aSession(claudeProvider, stage.door, {
      ...started.request,
      input: 'And now?',
      resume: { ref },
    });
    keep(resumed);
    expect(await resumed.untilType('turn_end')).toMatchObject([
      { type: 'session', ref },
      { type: 'message', text: 'Back again.' },
      { type: 'usage', requests: 1, input_tokens: 100, pricing: 'pending' },
      // what its first process used was told by that
      { type: 'usage', requests: 0, input_tokens: 0, pricing: 'settles' },
      { type: 'turn_end' },
    ]);
    expect(stage.model.of('again').at(-1)?.text).toContain('I am done.');
  });

  it('refuses to resume a session that is not there', async () => {
    const started = await start('gone', [[says('Never')]], {
      resume: { ref: '00000000-0000-4000-8000-000000000000' },
    });
    expect((await started.rest())[0]).toMatchObject({ type: 'failed', failure: { class: 'invalid' } });
  });

  it('steers the turn that runs, and says so only when the model has it', async () => {
    const started = await start('steer', [
      [calls({ name: 'Bash', input: { command: 'until [ -e go ]; do sleep 0.05; done' } }), says('I heard.')],
    ]);
    await started.untilType('tool_call');
    let answer: string | undefined;
    const steered = started.session.steer('Mind the gap.').then((delivery) => {
      answer = delivery;
    });
    await expect(claudeProvider.availability({ program: claude, account: account() })).resolves.toBeDefined();
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
    await expect(started.session.interrupt()).resolves.toBe('delivered');
    const first = await started.untilType('turn_end');
    expect(first.at(-1)).toEqual({ type: 'turn_end', how: 'interrupted' });
    await waitUntil(() => stage.model.of('stop')[0]?.aborted, { what: 'the request to be given up' });
    await expect(started.session.say({ kind: 'continuation', text: 'Do the other.' })).resolves.toBe('delivered');
    expect(await started.untilType('turn_end')).toContainEqual({ type: 'message', text: 'Another.' });
  });

  it('waits for an account whose plan is used up until the time that the model names', async () => {
    const resets = Math.floor(Date.now() / 1_000) + 3_600;
    const started = await start(
      'limit',
      [
        [
          fails(429, {
            retry_after: 3_600,
            headers: {
              'anthropic-ratelimit-unified-status': 'rejected',
              'anthropic-ratelimit-unified-reset': String(resets),
              'anthropic-ratelimit-unified-representative-claim': 'five_hour',
            },
          }),
        ],
      ],
      { account: account({ CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-canary-of-a-login' }) },
    );
    const events = await started.untilType('failed');
    expect(events).toMatchObject([{ type: 'session' }, { type: 'failed', failure: { class: 'rate_limit' } }]);
    const last = events.at(-1);
    const wait = last?.type === 'failed' && last.failure.class === 'rate_limit' ? last.failure.retry_after_ms : 0;
    expect(Math.abs(wait - (resets * 1_000 - Date.now()))).toBeLessThan(60_000);
  });

  it.each([
    ['auth', 401, []],
    ['invalid', 400, []],
  ])('tells %s apart (%i) before the model has said a word: it refused to start', async (name, status, before) => {
    const errors = Array.from({ length: 20 }, () => fails(status));
    const started = await start(`error-${status}`, [errors]);
    const events = await started.untilType('failed');
    expect(events).toMatchObject([...before, { type: 'failed', failure: { class: name } }]);
  });

  it('tries again by itself when a stream is cut or the model is overloaded for a moment', async () => {
    const started = await start('cut', [[{ kind: 'cut' }, fails(529), says('Here I am.')]]);
    const events = await started.untilType('turn_end');
    expect(events).toContainEqual({ type: 'message', text: 'Here I am.' });
  });

  it('H35 shows neither the key nor the token of the door in what it says', async () => {
    const started = await start('leak', [
      [calls({ name: 'Bash', input: { command: 'echo "key=$ANTHROPIC_API_KEY"' } }), says('So.')],
    ]);
    const events = await started.untilType('turn_end');
    expect(JSON.stringify(events)).not.toContain(key);
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool_result', text: 'key=***' }));
  });

  it('H28 H35 works behind walls: the proxy holds its key, the door is relayed, its sessions lie in a folder of their own', async () => {
    const look =
      'env; ls -A ~ /root; cat ../state/claude/.credentials.json; cat /proc/*/environ | tr "\\0" "\\n"; true';
    stage.model.script('walls', {
      sessions: [[calls({ name: 'Bash', input: { command: look } }), handsOver('Done.'), says('Over.')]],
    });
    const started = await aSession(
      claudeProvider,
      stage.door,
      { program: claude, account: { ...account(), environment: {} }, input: scriptMark('walls') },
      { walls: true },
    );
    keep(started);
    const events = await started.untilType('turn_end');
    expect(events.filter(({ type }) => type === 'tool_result')).toMatchObject([{ ok: true }, { ok: true }]);
    expect(stage.door.calls).toHaveLength(1);
    expect(stage.model.of('walls').map(({ headers }) => headers['x-api-key'])).toEqual([key, key, key]);
    expect(stage.model.of('walls')[1]?.text).toContain('held-by-the-sandbox');
    expect(stage.model.of('walls')[1]?.text).not.toContain(key);
    await started.session.stop();
  });

  it('says what it used when its process is killed in the middle, and leaves no process', async () => {
    const started = await start('killed', [
      [calls({ name: 'Bash', input: { command: 'sleep 1000 & setsid sleep 1000' } })],
    ]);
    await started.untilType('tool_call');
    await expect(started.session.stop({ graceMs: 500 })).resolves.toEqual({ empty: true });
    const events = await started.rest();
    expect(events).toContainEqual(expect.objectContaining({ type: 'usage', requests: 1, input_tokens: 100 }));
    expect(events.at(-1)?.type).toBe('exit');
    expect(processesMarked(started.request.marker.worker)).toEqual([]);
  });

  it('is usable with a login and says the way out where there is none or no program', async () => {
    await expect(claudeProvider.availability({ program: claude, account: account() })).resolves.toEqual({
      usable: true,
      version: claudeCli.version,
    });
    await expect(claudeProvider.availability({ program: claude, account: account({}) })).resolves.toMatchObject({
      usable: false,
      code: 'auth',
      fix: expect.stringContaining('longshore worker login claude'),
    });
    await expect(claudeProvider.availability({ program: '/nowhere/claude' })).resolves.toMatchObject({
      usable: false,
      code: 'environment',
      fix: expect.stringContaining('npm install'),
    });
  });
});

const unlessUsage = (events: readonly ProviderEvent[]) => events.filter(({ type }) => type !== 'usage');

function toolsOf(body: unknown): readonly string[] {
  const tools = z.looseObject({ tools: z.array(z.looseObject({ name: z.string() })) }).parse(body).tools;
  return tools
    .map(({ name }) => name)
    .filter((name) => name !== 'DeferredToolPlaceholder')
    .sort();
}
