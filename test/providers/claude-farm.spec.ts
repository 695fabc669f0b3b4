import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { status } from '#contracts';
import { ModelServer } from '../support/model-server/model-server.js';
import { calls, fails, handsOver, says } from '../support/model-server/script.js';
import { waitUntil } from '../support/wait-until.js';
import { aCli, claudeCli, describeCli } from './a-cli.js';
import { AgentFarm } from './agent-farm.js';
import { afterBeats, atTheTool, recoveriesOf } from './farm-looks.js';
import { cancelInMidAnswer, killItsWorker, standStillForAMinute } from './farm-promises.js';
import { farmStage } from './farm-stage.js';

const program = await aCli(claudeCli);

describeCli(claudeCli, program, (claude) => {
  const stage = farmStage();

  async function aFarm(workers: readonly string[]): Promise<AgentFarm> {
    const account = { provider: 'claude', program: claude, upstream: stage.model.url, key };
    const agents = await AgentFarm.start(account);
    stage.keep(agents.farm);
    for (const name of workers) await agents.join(name);
    return agents;
  }

  const key = 'sk-ant-api03-canary-of-a-key';
  const write = (path: string, content: string) =>
    calls({ name: 'Bash', input: { command: `printf '%s' '${content}' > ${path}` } });

  it('H28 H35 does a Task behind walls: member operations, changed files, a handover, its commit and what it used', async () => {
    const agents = await aFarm(['north']);
    stage.model.script('whole', {
      sessions: [
        [
          calls({ member: 'get_current_context' }),
          calls({ member: 'set_work_plan', input: { steps: [{ title: 'Write', status: 'in_progress' }] } }),
          calls({ name: 'Write', input: { file_path: 'hello.txt', content: 'Hello\n' } }),
          write('more.txt', 'more'),
          calls({
            name: 'Bash',
            input: { command: `cat ${agents.farm.data}/*/*/key /proc/*/environ; env; echo looked` },
          }),
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
    expect(view.usage).toMatchObject({
      requests: 8,
      input_tokens: 800,
      output_tokens: 80,
      cost_usd: expect.any(Number),
    });
    const results = stage.model.of('whole').map(({ text }) => text);
    expect(results[1]).toContain('assignment');
    expect(results[5]).toContain('looked');
    for (const text of results) expect(text).not.toContain(key);
    expect(stage.model.of('whole').map(({ headers }) => headers['x-api-key'])).toEqual(results.map(() => key));
    expect(stage.sessionsOf('whole')).toEqual([0]);
  });

  it('reminds it in the same session when its turn ended without a handover', async () => {
    const agents = await aFarm(['north']);
    stage.model.script('forgot', {
      sessions: [[says('Done, I think.'), says('What else?'), handsOver('Now.'), says('Over.')]],
    });
    const task = await agents.startTask('forgot');
    expect((await agents.farm.until(task)).result).toMatchObject({ outcome: 'green', summary: 'Now.' });
    const north = agents.farm.workers.get('north');
    expect(north?.events.filter(({ event }) => event === 'reminded').map(({ count }) => count)).toEqual([1, 2]);
    expect(stage.sessionsOf('forgot')).toEqual([0]);
  });

  it('is steered in the middle of its turn, and the farm hears when the model has it', async () => {
    const agents = await aFarm(['north']);
    stage.model.script('steered', {
      sessions: [
        [
          calls({ name: 'Bash', input: { command: 'until [ -e go ]; do sleep 0.05; done; rm go' } }),
          handsOver('As told.'),
          says('Over.'),
        ],
      ],
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
    const [signal] = await agents.farm.rows<{ outcome: string }>('select outcome from signal where job = $1', [job]);
    expect(signal).toEqual({ outcome: 'delivered' });
    expect(stage.model.of('steered')[1]?.text).toContain('canary-of-steering');
  });

  it('leaves no process when its Task is cancelled in the middle of an answer, and its work is kept', async () => {
    await cancelInMidAnswer(stage, await aFarm(['north']), write);
  });

  it('D18 D11 goes on with the same answer when its machine stood still for a minute', async () => {
    await standStillForAMinute(stage, await aFarm(['north']), write);
  }, 200_000);

  it('W10 P4 I6 is done by another machine in a session of its own at the next epoch when its worker is killed', async () => {
    await killItsWorker(stage, await aFarm(['north', 'south']), write);
    const [first, second] = [0, 1].map((n) => stage.model.of('killed').find(({ session }) => session === n));
    expect(promptOf(second?.body)).toEqual(promptOf(first?.body));
  });

  it('H11 spends nothing of its job where the login of a machine is refused: another does it', async () => {
    const agents = await aFarm([]);
    const refusing = await ModelServer.start();
    for (let n = 0; n < 3; n += 1) {
      refusing.script(`job-${n}`, { sessions: [Array.from({ length: 20 }, () => fails(401))] });
      stage.model.script(`job-${n}`, { sessions: [[write(`${n}.txt`, 'x'), handsOver(`Done ${n}.`), says('Over.')]] });
    }
    await agents.join('broken', { upstream: refusing.url });
    await agents.join('good');
    const tasks: string[] = [];
    for (let n = 0; n < 3; n += 1) tasks.push(await agents.startTask(`job-${n}`));
    for (const task of tasks) {
      expect((await agents.farm.until(task, undefined, 120_000)).result?.outcome).toBe('green');
      expect(await recoveriesOf(agents.farm, task)).toBe(0);
    }
    expect(refusing.requests.length).toBeGreaterThan(0);
    await refusing.close();
  });

  it('reads the instructions of the repository unless the workflow isolates its member', async () => {
    const agents = await aFarm(['north']);
    for (const mode of ['inherit', 'isolated'] as const) {
      stage.model.script(mode, {
        sessions: [
          [
            write('CLAUDE.md', 'canary-of-claude-md'),
            calls({ member: 'checkpoint', input: { summary: 'Once more.', outcome: 'retry' } }),
            says('Over.'),
          ],
          [handsOver('Done.'), says('Over.')],
        ],
      });
      await agents.farm.until(await agents.startTask(mode, mode));
      const second = stage.model.of(mode).find(({ session }) => session === 1);
      expect(second?.text.includes('canary-of-claude-md')).toBe(mode === 'inherit');
    }
  });

  it('waits for an account whose plan is used up, and says until when', async () => {
    const agents = await aFarm([]);
    await agents.join('north', { key: 'sk-ant-oat01-canary', keyName: 'CLAUDE_CODE_OAUTH_TOKEN' });
    const resets = Math.floor(Date.now() / 1_000) + 3_600;
    stage.model.script('limited', {
      sessions: [
        [
          write('half.txt', 'half'),
          fails(429, {
            headers: {
              'anthropic-ratelimit-unified-status': 'rejected',
              'anthropic-ratelimit-unified-reset': String(resets),
              'anthropic-ratelimit-unified-representative-claim': 'five_hour',
            },
          }),
        ],
      ],
    });
    await agents.startTask('limited');
    const paused = await waitUntil(
      async () => {
        const { accounts } = await agents.farm.client.call(status, {});
        return accounts.find(({ account, state }) => account === 'team' && state === 'paused');
      },
      { within: 60_000, what: 'the account to be paused' },
    );
    expect(Math.abs(Date.parse(paused.resets_at ?? '') - resets * 1_000)).toBeLessThan(60_000);
  });
});

/** The bytes of the user's lane, the same at every epoch (I6). */
function promptOf(body: unknown): unknown {
  const { messages } = z
    .looseObject({ messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })) })
    .parse(body);
  const text = JSON.stringify(messages.find(({ role }) => role === 'user')?.content);
  return text.slice(text.indexOf('[[model-script'));
}
