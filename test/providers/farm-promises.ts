import { setTimeout as pause } from 'node:timers/promises';
import { expect } from '@jest/globals';
import type { calls } from '../support/model-server/script.js';
import { handsOver, says } from '../support/model-server/script.js';
import { stateOf } from '../support/processes-of.js';
import { waitUntil } from '../support/wait-until.js';
import type { AgentFarm } from './agent-farm.js';
import { agentsOf, recoveriesOf } from './farm-looks.js';
import type { FarmStage } from './farm-stage.js';

/** Writes a file by a tool of the agent's own. */
export type Write = (path: string, content: string) => ReturnType<typeof calls>;

/** A Task is cancelled in the middle of an answer: no process stays, its work is kept. */
export async function cancelInMidAnswer({ model }: FarmStage, agents: AgentFarm, write: Write): Promise<void> {
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
}

/** The only machine, `north`, stands still for a minute in the middle of an answer, and goes on with it (D18, D11). */
export async function standStillForAMinute(stage: FarmStage, agents: AgentFarm, write: Write): Promise<void> {
  const { model } = stage;
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
  expect(stage.sessionsOf('asleep')).toEqual([0]);
  expect(await recoveriesOf(agents.farm, task)).toBe(0);
}

/** Of two machines the one at work is killed: the other does the job in a session of its own, at the next epoch (W10, P4). */
export async function killItsWorker(stage: FarmStage, agents: AgentFarm, write: Write): Promise<void> {
  const { model } = stage;
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
  expect(stage.sessionsOf('killed')).toEqual([0, 1]);
}
