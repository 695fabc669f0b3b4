import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { taskStart, workflowImport } from '#contracts';
import { Farm } from '../support/farm.js';
import { calls, handsOver, says, scriptMark } from '../support/model-server/script.js';
import { tempDir } from '../support/temp-dir.js';
import { waitUntil } from '../support/wait-until.js';
import { aCli, acpCli, describeCli } from './a-cli.js';
import { afterBeats, agentsOf, atTheTool } from './farm-looks.js';
import { farmStage } from './farm-stage.js';

const program = await aCli(acpCli);

describeCli(acpCli, program, (agent) => {
  const stage = farmStage();
  const key = 'sk-ant-api03-canary-of-a-key';

  /** One machine whose owner named the agent in worker.yaml: how it sends its key, and where it has to be told its base URL. */
  async function aFarm(command: readonly string[] = [agent]): Promise<Farm> {
    const started = stage.keep(await Farm.start());
    await started.client.call(workflowImport, {
      document: 'kind: workflow\nid: real\ndescription: One member.\nlead:\n  id: lead\n  provider: { kind: acp }\n',
    });
    const home = join(started.data, 'workers', 'north');
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeFileSync(join(home, 'key'), key, { mode: 0o600 });
    // a mode in which it asks its client for permission
    const settings = tempDir('claude');
    writeFileSync(join(settings, 'settings.json'), JSON.stringify({ permissions: { defaultMode: 'default' } }));
    const account = {
      provider: 'acp',
      command,
      key: { file: 'key', name: 'ANTHROPIC_API_KEY', header: 'x-api-key' },
      upstream: stage.model.url,
      upstream_name: 'ANTHROPIC_BASE_URL',
      login: settings,
      environment: {
        CLAUDE_CONFIG_DIR: settings,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: 'false',
      },
    };
    writeFileSync(join(home, 'worker.yaml'), stringify({ accounts: { north: account } }), { mode: 0o600 });
    await started.join('north', { slots: 1 });
    return started;
  }

  const startTask = async (started: Farm, script: string) =>
    (await started.client.call(taskStart, { workflow_id: 'real', prompt: `${scriptMark(script)} Do it.` })).task_id;
  const shell = (command: string) => calls({ name: 'Bash', input: { command } });

  it('H28 H35 does a Task behind walls: member operations, changed files, a reminder, a handover, its commit', async () => {
    // named as many agents are: a program, and the script that it runs
    const started = await aFarm([process.execPath, realpathSync(agent)]);
    stage.model.script('whole', {
      sessions: [
        [
          calls({ member: 'get_current_context' }),
          shell(`printf Hello > hello.txt`),
          shell(`cat ${started.data}/*/*/key /proc/*/environ | tr '\\0' '\\n'; echo looked`),
          shell(`cat /proc/*/cmdline | tr '\\0' '\\n'; echo argued`),
          says('That is all, I think.'),
        ],
      ],
      // it may ask its model besides, too: whatever it asks from now on
      afterwards: handsOver('Wrote a file.', { files: [{ path: 'hello.txt' }] }),
    });
    const task = await startTask(started, 'whole');
    const view = await started.until(task);
    expect(view.result).toMatchObject({ outcome: 'green', summary: 'Wrote a file.' });
    expect(await started.fileOf(task, 'hello.txt')).toBe('Hello');
    const asked = stage.model.of('whole');
    expect(asked[1]?.text).toContain('assignment');
    const seen = asked.map(({ text }) => text);
    expect(seen.find((text) => text.includes('looked'))).toContain('ANTHROPIC_API_KEY=held-by-the-sandbox');
    expect(seen.find((text) => text.includes('argued'))).toContain('door-relay-main.js');
    for (const text of seen) expect(text).not.toMatch(/canary-of-a-key|Bearer/);
    expect(new Set(asked.map(({ headers }) => headers['x-api-key']))).toEqual(new Set([key]));
    const reminded = started.workers.get('north')?.events.filter(({ event }) => event === 'reminded');
    expect(reminded?.map(({ count }) => count)).toEqual([1]);
  });

  it('is told at the end of its turn what it was steered by, and the farm hears then', async () => {
    const started = await aFarm();
    stage.model.script('steered', {
      sessions: [[shell('until [ -e go ]; do sleep 0.05; done; rm go'), says('First.')]],
      afterwards: handsOver('As told.'),
    });
    const task = await startTask(started, 'steered');
    const { job, worker } = await atTheTool(started);
    await started.rows(
      `insert into signal (job, seq, kind, body) values ($1, 1, 'steer', '{"text":"canary-of-steering"}')`,
      [job],
    );
    await afterBeats(started, job, 2);
    await started.letGo(worker, job);
    await started.until(task);
    expect(await started.rows('select outcome from signal where job = $1', [job])).toEqual([{ outcome: 'delivered' }]);
    expect(
      stage.model
        .of('steered')
        .map(({ text }) => text)
        .join(),
    ).toContain('canary-of-steering');
  });

  it('leaves no process when its Task is cancelled in the middle of an answer', async () => {
    const started = await aFarm();
    stage.model.script('cancelled', { sessions: [[{ ...says('A long answer.'), midway: 'cancelled' }]] });
    const task = await startTask(started, 'cancelled');
    await stage.model.gates.reached('cancelled');
    const [job] = await started.jobs(task);
    expect(agentsOf(job?.id)).not.toEqual([]);
    await started.control(task, 'cancel');
    await waitUntil(async () => (await started.jobs(task))[0]?.state === 'cancelled', {
      within: 60_000,
      what: 'the job to end',
    });
    expect(agentsOf(job?.id)).toEqual([]);
  });
});
