import { expect, it } from '@jest/globals';
import { workflowImport } from '#contracts';
import { ModelServer } from '../support/model-server/model-server.js';
import { calls, fails, handsOver, says } from '../support/model-server/script.js';
import { aCli, codexCli, describeCli } from './a-cli.js';
import { AgentFarm } from './agent-farm.js';
import { afterBeats, atTheTool, recoveriesOf } from './farm-looks.js';
import { cancelInMidAnswer, killItsWorker, standStillForAMinute } from './farm-promises.js';
import { farmStage } from './farm-stage.js';

const program = await aCli(codexCli);

describeCli(codexCli, program, (codex) => {
  const stage = farmStage();

  async function aFarm(workers: readonly string[]): Promise<AgentFarm> {
    const account = { provider: 'codex', program: codex, upstream: `${stage.model.url}/v1`, key: 'sk-proj-canary' };
    const agents = await AgentFarm.start(account);
    stage.keep(agents.farm);
    // a model whose tools are called one by one, as the scripted one does
    await agents.farm.client.call(workflowImport, {
      document: `
kind: workflow
id: inherit
description: One member that is a real agent.
lead:
  id: lead
  provider: { kind: codex, model: gpt-5.2-codex }
`,
    });
    for (const name of workers) await agents.join(name);
    return agents;
  }

  const shell = (cmd: string) => calls({ name: 'exec_command', input: { cmd } });
  const write = (path: string, content: string) => shell(`printf '%s' '${content}' > ${path}`);

  it('does a Task: member operations, changed files, a handover, and its commit with what it used', async () => {
    const agents = await aFarm(['north']);
    stage.model.script('whole', {
      sessions: [
        [
          calls({ member: 'get_current_context' }),
          calls({ member: 'set_work_plan', input: { steps: [{ title: 'Write', status: 'in_progress' }] } }),
          write('hello.txt', 'Hello'),
          write('more.txt', 'more'),
          says('That is all, I think.'),
          handsOver('Wrote two files.', { files: [{ path: 'hello.txt' }] }),
          says('Over.'),
        ],
      ],
    });
    const task = await agents.startTask('whole');
    const view = await agents.farm.until(task);
    expect(view.result).toMatchObject({ outcome: 'green', summary: 'Wrote two files.' });
    expect(view.result?.files_changed.map(({ path }) => path).sort()).toEqual(['hello.txt', 'more.txt']);
    expect(await agents.farm.fileOf(task, 'hello.txt')).toBe('Hello');
    expect(view.usage).toMatchObject({ input_tokens: expect.any(Number), output_tokens: expect.any(Number) });
    expect(view.usage?.requests).toBeGreaterThanOrEqual(6);
    expect(stage.model.of('whole')[1]?.text).toContain('assignment');
    expect(stage.sessionsOf('whole')).toEqual([0]);
    const north = agents.farm.workers.get('north');
    expect(north?.events.filter(({ event }) => event === 'reminded').map(({ count }) => count)).toEqual([1]);
    // the key goes to the model, and only there
    expect(stage.model.of('whole')[0]?.headers.authorization).toBe('Bearer sk-proj-canary');
    expect(stage.model.requests.map(({ text }) => text).join()).not.toContain('sk-proj-canary');
  });

  it('is steered in the middle of its turn, and the farm hears when the model has it', async () => {
    const agents = await aFarm(['north']);
    stage.model.script('steered', {
      sessions: [[shell('until [ -e go ]; do sleep 0.05; done; rm go'), handsOver('As told.'), says('Over.')]],
    });
    const task = await agents.startTask('steered');
    const { job, worker } = await atTheTool(agents.farm);
    await agents.farm.rows(
      `insert into signal (job, seq, kind, body) values ($1, 1, 'steer', '{"text":"canary-of-steering"}')`,
      [job],
    );
    await afterBeats(agents.farm, job, 2);
    await agents.farm.letGo(worker, job);
    await agents.farm.until(task);
    const signals = await agents.farm.rows<{ outcome: string }>('select outcome from signal where job = $1', [job]);
    expect(signals).toEqual([{ outcome: 'delivered' }]);
    expect(
      stage.model
        .of('steered')
        .map(({ text }) => text)
        .join(),
    ).toContain('canary-of-steering');
  });

  it('leaves no process when its Task is cancelled in the middle of an answer, and its work is kept', async () => {
    await cancelInMidAnswer(stage, await aFarm(['north']), write);
  });

  it('D18 D11 goes on with the same answer when its machine stood still for a minute', async () => {
    await standStillForAMinute(stage, await aFarm(['north']), write);
  }, 200_000);

  it('W10 P4 is done by another machine in a session of its own at the next epoch when its worker is killed', async () => {
    await killItsWorker(stage, await aFarm(['north', 'south']), write);
  });

  it('H11 spends nothing of its job where the key of a machine is refused: another does it', async () => {
    const agents = await aFarm([]);
    const refusing = await ModelServer.start();
    for (const script of ['refused-0', 'refused-1', 'refused-2']) {
      refusing.script(script, { sessions: [Array.from({ length: 20 }, () => fails(401))] });
      stage.model.script(script, { sessions: [[write(`${script}.txt`, 'x'), handsOver('Done.'), says('Over.')]] });
    }
    const broken = await agents.join('broken', { upstream: `${refusing.url}/v1` });
    const tasks = [await agents.startTask('refused-0')];
    await broken.event('failed');
    await agents.join('good');
    for (const script of ['refused-1', 'refused-2']) tasks.push(await agents.startTask(script));
    for (const task of tasks) {
      expect((await agents.farm.until(task, undefined, 120_000)).result?.outcome).toBe('green');
      expect(await recoveriesOf(agents.farm, task)).toBe(0);
    }
    expect(refusing.requests.length).toBeGreaterThan(0);
    await refusing.close();
  });
});
