import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { taskStart, workflowImport } from '#contracts';
import { calls, handsOver, says, scriptMark } from '../support/model-server/script.js';
import { waitUntil } from '../support/wait-until.js';
import { aCli, claudeCli, codexCli } from './a-cli.js';
import { type AgentAccount, AgentFarm } from './agent-farm.js';
import { agentsOf } from './farm-looks.js';
import { farmStage } from './farm-stage.js';
import { memberTools } from './member-tools.js';

const programs = { claude: await aCli(claudeCli), codex: await aCli(codexCli) } as const;
type Agent = keyof typeof programs;

const offered = {
  contributor: ['add_child', 'checkpoint', 'get_current_context', 'set_work_plan'],
  manager: [
    ...['add_child', 'checkpoint', 'delegate', 'get_current_context'],
    ...['remove_child', 'set_work_plan', 'update_child'],
  ],
};

/** A command in a shell, by a tool of the agent's own. */
const shells = {
  claude: (command: string) => calls({ name: 'Bash', input: { command } }),
  codex: (cmd: string) => calls({ name: 'exec_command', input: { cmd } }),
};

/** Codex: a model whose tools are called one by one, as the scripted one does. */
const providers = { claude: { kind: 'claude' }, codex: { kind: 'codex', model: 'gpt-5.2-codex' } };

const isWhole = programs.claude !== undefined && programs.codex !== undefined;

describe('a team of two real agents', () => {
  const stage = farmStage();

  const accountOf = (agent: Agent): AgentAccount => ({
    name: `${agent}-team`,
    provider: agent,
    program: programs[agent] ?? '',
    upstream: agent === 'codex' ? `${stage.model.url}/v1` : stage.model.url,
    key: agent === 'codex' ? 'sk-proj-canary' : 'sk-ant-api03-canary-of-a-key',
  });

  /** Each agent on a machine of its own. */
  async function aTeam(lead: Agent, helper: Agent): Promise<AgentFarm> {
    const agents = await AgentFarm.start(accountOf(lead));
    stage.keep(agents.farm);
    for (const agent of [lead, helper]) await agents.join(agent, accountOf(agent));
    const document = stringify({
      ...{ kind: 'workflow', id: 'pair', description: 'A lead and a helper.' },
      lead: { id: 'lead', provider: providers[lead], children: [{ id: 'helper', provider: providers[helper] }] },
    });
    await agents.farm.client.call(workflowImport, { document });
    return agents;
  }

  const whereBoth = isWhole ? it : it.skip;
  whereBoth.each([
    { lead: 'claude', helper: 'codex' },
    { lead: 'codex', helper: 'claude' },
  ] as const)(
    'D21 goes on with the merged work of a $helper that its lead, a $lead, gave work to, each with its own operations',
    async ({ lead, helper }) => {
      const { farm } = await aTeam(lead, helper);
      const [ledBy, helpedBy] = [`led-by-${lead}`, `helped-by-${helper}`];
      const assignments = [{ child_id: 'helper', prompt: `${scriptMark(helpedBy)} Write your part.` }];
      stage.model.script(ledBy, {
        sessions: [
          [
            shells[lead](`printf 'the lead began, ' > begun.txt`),
            calls({ member: 'delegate', input: { assignments } }),
            says('Over.'),
          ],
          [shells[lead]('cat begun.txt helped.txt > whole.txt'), handsOver('The whole.'), says('Over.')],
        ],
      });
      stage.model.script(helpedBy, {
        sessions: [
          [
            calls({ member: 'get_current_context' }),
            shells[helper](`test -s begun.txt && printf 'the helper helped' > helped.txt`),
            handsOver('Helped, says the canary.'),
            says('Over.'),
          ],
        ],
      });
      const prompt = `${scriptMark(ledBy)} Have it done.`;
      // Agents look at the history, and commits carry the title: it names no script.
      const started = { workflow_id: 'pair', title: 'A pair', prompt };
      const { task_id: task } = await farm.client.call(taskStart, started);
      const view = await farm.until(task, undefined, 200_000);

      expect(view.result).toMatchObject({ outcome: 'green', summary: 'The whole.', unmerged: [] });
      const changed = view.result?.files_changed.map(({ path }) => path).sort();
      expect(changed).toEqual(['begun.txt', 'helped.txt', 'whole.txt']);
      expect(await farm.fileOf(task, 'whole.txt')).toBe('the lead began, the helper helped');

      const waves = await farm.rows(
        `select w.status, m.member, m.outcome, m.merge ->> 'outcome' as merge from wave w
         join wave_member m on m.wave = w.id where w.task = $1`,
        [task],
      );
      expect(waves).toEqual([{ status: 'settled', member: 'helper', outcome: 'green', merge: 'merged' }]);
      const [first, again] = [0, 1].map((n) => stage.model.of(ledBy).find(({ session }) => session === n));
      expect(stage.sessionsOf(ledBy)).toEqual([0, 1]);
      expect(stage.sessionsOf(helpedBy)).toEqual([0]);
      expect(first?.text).not.toContain('says the canary');
      expect(again?.text).toContain('says the canary');

      for (const asked of [first, again]) expect(memberTools(asked?.body)).toEqual(offered.manager);
      expect(memberTools(stage.model.of(helpedBy)[0]?.body)).toEqual(offered.contributor);

      const jobs = await farm.jobs(task);
      const machines = [lead, helper, lead].map((agent) => farm.workers.get(agent)?.id);
      expect(jobs.map(({ worker_id }) => worker_id)).toEqual(machines);
      for (const { id } of jobs)
        await waitUntil(() => agentsOf(id).length === 0, { within: 30_000, what: `${id} to leave no process` });
    },
  );
});
