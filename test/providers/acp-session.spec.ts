import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { acpProvider } from '../../apps/worker/src/provider/acp/acp-provider.js';
import type { SessionAccount } from '../../apps/worker/src/provider/port.js';
import { calls, fails, handsOver, says } from '../support/model-server/script.js';
import { allCommandLines, processesMarked } from '../support/processes-of.js';
import { tempDir } from '../support/temp-dir.js';
import { waitUntil } from '../support/wait-until.js';
import { aCli, acpCli, describeCli } from './a-cli.js';
import { aSession } from './a-session.js';
import { sessionStage } from './session-stage.js';

const program = await aCli(acpCli);

describeCli(acpCli, program, (agent) => {
  const key = 'sk-ant-api03-canary-of-a-key';
  /** In a mode in which it asks its client for permission. */
  function asking(): string {
    const folder = tempDir('claude');
    writeFileSync(join(folder, 'settings.json'), JSON.stringify({ permissions: { defaultMode: 'default' } }));
    return folder;
  }

  const account = (): SessionAccount => ({
    name: 'test',
    environment: {
      ANTHROPIC_BASE_URL: stage.model.url,
      CLAUDE_CONFIG_DIR: asking(),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDE_CODE_MAX_RETRIES: '1',
      CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: 'false',
    },
    secrets: { ANTHROPIC_API_KEY: key },
    billing: 'metered',
  });
  const shell = (command: string) => ({ name: 'Bash', input: { command } });

  const stage = sessionStage(acpProvider, () => ({ program: agent, account: account() }));
  const { start, keep } = stage;

  it('tells a turn as events, with its policy for an answer to what the agent would ask a person', async () => {
    const started = await start('turn', [
      [
        says('I look around.', { tools: [shell('echo hi; echo there > a.txt')] }),
        calls(shell('exit 3')),
        handsOver('Done.'),
        says('Over.'),
      ],
    ]);
    const events = await started.untilType('turn_end');
    expect(events.map(({ type }) => type)).toEqual([
      ...['session', 'message', 'tool_call', 'tool_result', 'tool_call', 'tool_result', 'tool_call', 'tool_result'],
      ...['message', 'usage', 'turn_end'],
    ]);
    expect(events).toMatchObject([
      { ref: started.session.ref },
      { text: 'I look around.' },
      { name: expect.any(String) },
      { ok: true, text: expect.stringContaining('hi') },
      {},
      { ok: false },
      {},
      { ok: true },
      { text: 'Over.' },
      { requests: 1 },
      { how: 'finished' },
    ]);
    expect(stage.door.calls).toEqual([{ name: 'checkpoint', arguments: { summary: 'Done.', outcome: 'green' } }]);
    expect(readFileSync(join(started.request.workspace, 'a.txt'), 'utf8')).toBe('there\n');
  });

  it('denies by policy what goes beyond the workspace', async () => {
    const started = await start('deny', [
      [calls({ name: 'WebFetch', input: { url: 'https://example.com/', prompt: 'Read it.' } }), says('So be it.')],
    ]);
    const events = await started.untilType('turn_end');
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool_result', ok: false }));
    expect(events).toContainEqual({ type: 'message', text: 'So be it.' });
  });

  it('H22 sends a prompt of 300 KiB by stdin; neither it nor the key is in any command line', async () => {
    const long = `${'All work and no play. '.repeat(14_000)} canary-of-the-prompt`;
    const started = await start('long', [[{ ...says('Read it.'), midway: 'long' }]], {
      input: long,
      instructions: 'canary-of-the-instructions',
    });
    await stage.model.gates.reached('long');
    const lines = allCommandLines().join('\n');
    // this agent puts what it is told of the door into the arguments of another program
    expect(lines).toContain('door-relay-main.js');
    for (const secret of ['canary-of-the', key, stage.door.token]) expect(lines).not.toContain(secret);
    stage.model.gates.release('long');
    await started.untilType('turn_end');
    const [asked] = stage.model.of('long');
    expect(asked?.text.length).toBeGreaterThan(300 * 1024);
    for (const part of ['canary-of-the-prompt', 'canary-of-the-instructions']) expect(asked?.text).toContain(part);
  });

  it('goes on in the same session after a reminder, and is loaded again when its process is gone', async () => {
    const started = await start('again', [
      [says('I am done.'), handsOver('Done.'), says('Over.'), ...Array.from({ length: 3 }, () => says('Back again.'))],
    ]);
    await started.untilType('turn_end');
    await expect(started.session.say({ kind: 'reminder', count: 1, text: 'Hand over.' })).resolves.toBe('delivered');
    expect((await started.untilType('turn_end')).map(({ type }) => type)).toEqual([
      ...['tool_call', 'tool_result', 'message', 'usage', 'turn_end'],
    ]);
    const { ref = '' } = started.session;
    await started.session.stop();
    expect((await started.rest()).map(({ type }) => type)).toEqual(['exit']);

    const resumed = await aSession(acpProvider, stage.door, { ...started.request, input: 'And now?', resume: { ref } });
    keep(resumed);
    expect(await resumed.untilType('turn_end')).toMatchObject([
      { type: 'session', ref },
      { type: 'message', text: 'Back again.' },
      { type: 'usage' },
      { type: 'turn_end' },
    ]);
    expect(stage.model.of('again').at(-1)?.text).toContain('I am done.');
  });

  it('says what comes into a turn at its end, before anybody hears that it is over', async () => {
    const started = await start('steer', [[{ ...says('First.'), midway: 'steer' }, says('I heard.')]]);
    await stage.model.gates.reached('steer');
    const steered = started.session.steer('Mind the gap.');
    stage.model.gates.release('steer');
    const events = await started.untilType('turn_end');
    await expect(steered).resolves.toBe('delivered');
    expect(events.filter(({ type }) => type === 'message')).toEqual([
      { type: 'message', text: 'First.' },
      { type: 'message', text: 'I heard.' },
    ]);
    expect(stage.model.of('steer')[1]?.text).toContain('Mind the gap.');
    await expect(started.session.steer('Too late.')).resolves.toBe('not_running');
    await expect(started.session.interrupt()).resolves.toBe('not_running');
  });

  it('cancels a turn in the middle of its answer, and goes on when it is told to', async () => {
    const started = await start('stop', [[{ ...says('A long answer.'), midway: 'never' }, says('Another.')]]);
    await stage.model.gates.reached('never');
    await expect(started.session.interrupt()).resolves.toBe('delivered');
    expect((await started.untilType('turn_end')).at(-1)).toEqual({ type: 'turn_end', how: 'interrupted' });
    await waitUntil(() => stage.model.of('stop')[0]?.aborted, { what: 'the request to be given up' });
    await expect(started.session.say({ kind: 'continuation', text: 'Do the other.' })).resolves.toBe('delivered');
    expect(await started.untilType('turn_end')).toContainEqual({ type: 'message', text: 'Another.' });
  });

  it('knows by its error an account that the model does not accept', async () => {
    const started = await start('refused', [Array.from({ length: 20 }, () => fails(401))]);
    expect((await started.untilType('failed')).at(-1)).toMatchObject({ type: 'failed', failure: { class: 'auth' } });
    expect(await started.untilType('turn_end')).toContainEqual({ type: 'turn_end', how: 'failed' });
  });

  it('H35 shows neither the key nor the token of the door in what it says', async () => {
    const started = await start('leak', [[calls(shell('echo "key=$ANTHROPIC_API_KEY"')), says('So.')]]);
    const events = await started.untilType('turn_end');
    expect(JSON.stringify(events)).not.toContain(key);
    expect(started.session.diagnostics()).not.toContain(stage.door.token);
  });

  it('leaves no process when it is killed in the middle', async () => {
    const started = await start('killed', [[calls(shell('sleep 1000 & setsid sleep 1000'))]]);
    await started.untilType('tool_call');
    await expect(started.session.stop({ graceMs: 500 })).resolves.toEqual({ empty: true });
    expect((await started.rest()).at(-1)?.type).toBe('exit');
    expect(processesMarked(started.request.marker.worker)).toEqual([]);
  });

  it('is of no use without a program, or where that is no agent', async () => {
    await expect(acpProvider.availability({ program: agent })).resolves.toEqual({ usable: true });
    await expect(acpProvider.availability()).resolves.toMatchObject({ usable: false, code: 'environment' });
    await expect(acpProvider.availability({ program: '/nowhere' })).resolves.toMatchObject({ usable: false });
    const mute = join(tempDir('mute'), 'mute');
    writeFileSync(mute, '#!/bin/sh\necho hello\nexit 1\n', { mode: 0o755 });
    const started = await start('mute', [[]], { program: mute });
    expect(await started.rest()).toMatchObject([
      { type: 'failed', failure: { class: 'environment' } },
      { type: 'exit', code: 1 },
    ]);
  });
});
