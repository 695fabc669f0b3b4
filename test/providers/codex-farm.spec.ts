import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { workflowImport } from '#contracts';
import { ModelServer } from '../support/model-server/model-server.js';
import { calls, fails, handsOver, says } from '../support/model-server/script.js';
import { stateOf } from '../support/processes-of.js';
import { waitUntil } from '../support/wait-until.js';
import { aCli, codexCli, describeCli } from './a-cli.js';
import { AgentFarm } from './agent-farm.js';
import { afterBeats, agentsOf, atTheTool, recoveriesOf } from './farm-looks.js';

const program = await aCli(codexCli);

describeCli(codexCli, program, (codex) => {
  let model: ModelServer;
  let running: AgentFarm | undefined;

  beforeAll(async () => {
    model = await ModelServer.start();
  });
  afterEach(async () => {
    const farm = running?.farm;
    running = undefined;
    for (const worker of farm?.workers.values() ?? []) worker.signal('SIGCONT');
    await farm?.stop();
  });
  afterAll(() => model.close());

  async function aFarm(workers: readonly string[]): Promise<AgentFarm> {
    const account = { provider: 'codex', program: codex, upstream: `${model.url}/v1`, key: 'sk-proj-canary' };
    running = await AgentFarm.start(account);
    // a model whose tools are called one by one, as the scripted one does
    await running.farm.client.call(workflowImport, {
      document: `
kind: workflow
id: inherit
description: One member that is a real agent.
lead:
  id: lead
  provider: { kind: codex, model: gpt-5.2-codex }
`,
    });
    for (const name of workers) await running.join(name);
    return running;
  }

  const shell = (cmd: string) => calls({ name: 'exec_command', input: { cmd } });
  const write = (path: string, content: string) => shell(`printf '%s' '${content}' > ${path}`);
  const sessionsOf = (script: string) => [...new Set(model.of(script).map(({ session }) => session))];

  it('does a Task: member operations, changed files, a handover, and its commit with what it used', async () => {
    const agents = await aFarm(['north']);
    model.script('whole', {
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
    expect(model.of('whole')[1]?.text).toContain('assignment');
    expect(sessionsOf('whole')).toEqual([0]);
    const north = agents.farm.workers.get('north');
    expect(north?.events.filter(({ event }) => event === 'reminded').map(({ count }) => count)).toEqual([1]);
    // the key goes to the model, and only there
    expect(model.of('whole')[0]?.headers.authorization).toBe('Bearer sk-proj-canary');
    expect(model.requests.map(({ text }) => text).join()).not.toContain('sk-proj-canary');
  });

  it('is steered in the middle of its turn, and the farm hears when the model has it', async () => {
    const agents = await aFarm(['north']);
    model.script('steered', {
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
      model
        .of('steered')
        .map(({ text }) => text)
        .join(),
    ).toContain('canary-of-steering');
  });

  it('leaves no process when its Task is cancelled in the middle of an answer, and its work is kept', async () => {
    const agents = await aFarm(['north']);
    model.script('cancelled', {
      sessions: [[write('half.txt', 'half'), { ...says('A long answer.'), midway: 'cancelled' }]],
    });
    const task = await agents.startTask('cancelled');
    await model.gates.reached('cancelled');
    const [job] = await agents.farm.jobs(task);
    expect(agentsOf(job?.id)).not.toEqual([]);
    await agents.farm.control(task, 'cancel');
    await waitUntil(async () => (await agents.farm.jobs(task))[0]?.state === 'cancelled', {
      within: 60_000,
      what: 'the job to end',
    });
    expect(agentsOf(job?.id)).toEqual([]);
    const view = await agents.farm.task(task);
    expect(view).toMatchObject({ status: 'cancelled', result: null });
    expect(view.rescues).toHaveLength(1);
  });

  it('D18 D11 goes on with the same answer when its machine stood still for a minute', async () => {
    const agents = await aFarm(['north']);
    model.script('asleep', {
      sessions: [
        [
          write('before.txt', 'before'),
          { ...says('Where was I?'), midway: 'asleep' },
          write('after.txt', 'after'),
          handsOver('Both.'),
          says('Over.'),
        ],
      ],
    });
    const task = await agents.startTask('asleep');
    await model.gates.reached('asleep');
    const [job] = await agents.farm.jobs(task);
    const north = agents.farm.workers.get('north');
    north?.signal('SIGSTOP');
    // the guardian alone knows the end of the lease
    await waitUntil(() => agentsOf(job?.id).length > 0 && agentsOf(job?.id).every((pid) => stateOf(pid) === 'T'), {
      within: 30_000,
      what: 'the agent to be frozen',
    });
    await pause(60_000);
    model.gates.release('asleep');
    north?.signal('SIGCONT');
    const view = await agents.farm.until(task);
    expect(view.result?.files_changed.map(({ path }) => path).sort()).toEqual(['after.txt', 'before.txt']);
    expect((await agents.farm.jobs(task))[0]).toMatchObject({ state: 'done', epoch: 2 });
    expect(sessionsOf('asleep')).toEqual([0]);
    expect(await recoveriesOf(agents.farm, task)).toBe(0);
  }, 200_000);

  it('W10 P4 is done by another machine in a session of its own at the next epoch when its worker is killed', async () => {
    const agents = await aFarm(['north', 'south']);
    model.script('killed', {
      sessions: [
        [write('half.txt', 'half'), { ...says('Never said.'), midway: 'killed' }],
        [write('whole.txt', 'whole'), handsOver('All of it.'), says('Over.')],
      ],
    });
    const task = await agents.startTask('killed');
    await model.gates.reached('killed');
    const [job] = await agents.farm.jobs(task);
    const dead = [...agents.farm.workers.values()].find(({ id }) => id === job?.worker_id);
    dead?.signal('SIGKILL');
    await dead?.ended;
    await waitUntil(() => agentsOf(`${job?.id}:1`).length === 0, {
      within: 30_000,
      what: 'the dead worker to leave no agent',
    });
    const view = await agents.farm.until(task);
    expect(view.result).toMatchObject({ outcome: 'green', summary: 'All of it.' });
    const [done] = await agents.farm.jobs(task);
    expect(done).toMatchObject({ state: 'done', epoch: 2 });
    expect(done?.worker_id).not.toBe(dead?.id);
    expect(sessionsOf('killed')).toEqual([0, 1]);
  });

  it('H11 spends nothing of its job where the key of a machine is refused: another does it', async () => {
    const agents = await aFarm([]);
    const refusing = await ModelServer.start();
    for (const script of ['refused-0', 'refused-1', 'refused-2']) {
      refusing.script(script, { sessions: [Array.from({ length: 20 }, () => fails(401))] });
      model.script(script, { sessions: [[write(`${script}.txt`, 'x'), handsOver('Done.'), says('Over.')]] });
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
