import { newId, taskStart } from '#contracts';
import { statement } from '#store';
import type { Controller } from './controllers.js';
import { callLate } from './late-calls.js';
import { actIn } from './member.js';
import { type Act, somebodyActs, twoAct } from './people.js';
import type { Random } from './random.js';
import type { World } from './world.js';

/** Something that may happen next: what it will do is drawn before it begins. Undefined: nothing of that kind can happen. */
interface Step {
  readonly name: string;
  readonly weight: number;
  readonly plan: (world: World, random: Random) => Promise<Act | undefined>;
}

const mostTasks = 3;

export const steps: readonly Step[] = [
  {
    name: 'a ring arrives',
    weight: 10,
    plan: async (world) => {
      if (world.rings.waiting === 0) return undefined;
      return async () => world.say(`  for ${world.rings.deliver()}`);
    },
  },
  { name: 'a controller that was rung looks', weight: 6, plan: async (world) => lookWhereRung(world) },
  {
    name: 'a sweep',
    weight: 7,
    plan: async (world, random) => () => sweepOnce(world, world.controller(random), random),
  },
  {
    name: 'a machine claims',
    weight: 14,
    plan: async (world, random) => {
      const awake = world.machines.filter(({ state }) => state === 'awake');
      const machine = random.pick(awake.some(({ rung }) => rung) ? awake.filter(({ rung }) => rung) : awake);
      return machine && (() => machine.claim(random));
    },
  },
  {
    name: 'a machine beats',
    weight: 7,
    plan: async (world, random) => {
      const machine = random.pick(world.machines.filter((each) => each.state === 'awake' && each.live().length > 0));
      return machine && (() => machine.beat(random));
    },
  },
  {
    name: 'a session acts',
    weight: 60,
    plan: async (world, random) => {
      const [machine, session] = random.pick(sessions(world)) ?? [];
      return machine && session && (() => actIn(world, machine, session, random));
    },
  },
  { name: 'time passes', weight: 6, plan: async (world, random) => () => passTime(world, random) },
  {
    name: 'somebody acts',
    weight: 9,
    plan: async (world, random) => {
      const task = random.pick(world.tasks);
      return task && somebodyActs(world, task, random);
    },
  },
  {
    name: 'two act by one view',
    weight: 1,
    plan: async (world, random) => {
      const task = random.pick(world.tasks);
      return task && !world.racing ? twoAct(world, task, random) : undefined;
    },
  },
  { name: 'a machine has a bad day', weight: 3, plan: async (world, random) => mistreat(world, random) },
  {
    name: 'a call that is too late or forged',
    weight: 7,
    plan: async (world, random) => {
      const machine = random.pick(world.machines);
      return machine && (() => callLate(world, machine, random));
    },
  },
  { name: 'an operator at the queue', weight: 3, plan: operate },
  { name: 'a Task starts', weight: 1.5, plan: async (world, random) => startTask(world, random) },
  {
    name: 'a question is due',
    weight: 1,
    plan: async (world) => async () => {
      // Wall time: the one clock that the simulator can not move, so that the due date is moved instead.
      await world.database.run(makeDue);
    },
  },
];

function sessions(world: World) {
  return world.machines
    .filter(({ state }) => state === 'awake')
    .flatMap((machine) => machine.live().map((session) => [machine, session] as const));
}

function lookWhereRung(world: World): Act | undefined {
  const controller = world.controllers.find(({ rung }) => rung.size > 0);
  if (!controller) return undefined;
  return async () => {
    if (controller.rung.delete('teams')) await prepare(world, controller);
    if (controller.rung.delete('joins')) await world.call('joins', () => controller.teams.sweeps.joinWaves());
  };
}

const patience = 60_000;
export async function prepare(world: World, { teams }: Controller): Promise<void> {
  await world.call('preparing', () => teams.sweeps.prepareTasks(patience));
}

/** As the controller does each second, in any order. */
async function sweepOnce(world: World, controller: Controller, random: Random): Promise<void> {
  for (const [name, sweep] of random.shuffled(sweepsOf(world, controller)).slice(0, random.int(1, 4)))
    await world.call(name, sweep);
}

export function sweepsOf(
  world: World,
  { teams, queue, ringer }: Controller,
): readonly (readonly [string, () => Promise<unknown>])[] {
  const awake = world.machines.filter(({ state }) => state === 'awake').map(({ claimer }) => claimer);
  const { sweeps } = teams;
  return [
    [
      'queue sweep',
      async () => {
        const { failed } = await queue.sweep();
        for (const { job, error } of failed) world.trouble(`sweep of job ${job}`, error);
      },
    ],
    ['preparing', () => sweeps.prepareTasks(patience)],
    ['joins', () => sweeps.joinWaves()],
    ['due questions', () => sweeps.expireRequests()],
    [
      'lanes',
      async () => {
        await sweeps.retestLanes();
        await world.checkSwept();
      },
    ],
    ['accounts', () => sweeps.placeAccounts()],
    ['warm runs', () => sweeps.freeRuns(awake.map(({ worker }) => worker))],
    ['missing machines', () => sweeps.noteMissingMachines(awake)],
    ['rings', () => ringer.sweep()],
  ];
}

/** Farm time goes on, with beats in between or without, for a moment or for longer than any lease. */
async function passTime(world: World, random: Random): Promise<void> {
  const [pieces, ms] = random.weighed([
    [5, [1, random.int(100, 2_500)]],
    [3, [1, random.int(3_000, 12_000)]],
    [1, [1, 31_000]],
    [3, [random.int(2, 5), 9_000]],
    [0.2, [1, 52 * 60_000]],
  ]);
  for (let piece = 0; piece < pieces; piece += 1) {
    await world.pass(ms);
    world.say(`  ${ms} ms`);
    if (pieces === 1 && random.chance(0.5)) continue;
    for (const machine of world.machines) if (machine.state === 'awake') await machine.beat(random);
  }
}

function mistreat(world: World, random: Random): Act | undefined {
  const machine = random.pick(world.machines);
  if (!machine) return undefined;
  const name =
    machine.state === 'awake'
      ? random.weighed([
          [3, 'stops'],
          [1, 'is gone'],
          [1, 'is started anew'],
        ])
      : 'is well again';
  return async () => {
    world.say(`  ${machine.claimer.worker} ${name}`);
    world.tally.count('machines', name);
    if (name === 'stops') machine.state = 'stopped';
    else if (name === 'is gone') machine.state = 'gone';
    else if (name === 'is started anew' || machine.state === 'gone') machine.boot();
    else machine.state = 'awake';
  };
}

interface OpenJob {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
}

async function operate(world: World, random: Random): Promise<Act | undefined> {
  const { queue, database } = world.controller(random);
  const does = random.weighed([
    [3, 'requeue'],
    [3, 'redrive'],
    [1, 'cancel'],
    [2, 'submit'],
    [0.7, 'limit'],
  ]);
  if (does === 'limit') {
    const max = random.oneOf(null, null, 1, 2);
    return async () =>
      void (await world.whole('limit', () => database.transaction((tx) => queue.setLimit(tx, 'global', max))));
  }
  if (does === 'submit') {
    const job = { id: newId(), kind: 'echo', ...(random.chance(0.2) && { deadline_ms: 20_000 }) };
    return async () => void (await world.whole('submit', () => database.transaction((tx) => queue.submit(tx, job))));
  }
  const jobs: readonly OpenJob[] = await world.database.all(does === 'redrive' ? redrivable : operable);
  const job = random.pick(jobs);
  if (!job) return undefined;
  return async () => {
    const came = await world.whole(`${does} a ${job.state} ${job.kind}`, () =>
      database.transaction((tx) => queue[does](tx, job.id)),
    );
    if (came.came === 'ok') world.tally.count('operators', does);
    if (came.came !== 'refused')
      for (const machine of world.machines)
        for (const session of machine.sessions) if (session.lease.id === job.id) session.taken = true;
  };
}

const operable = statement<OpenJob>(
  'sim.operable',
  `select id, kind, state from job where state in ('queued', 'leased') order by seq`,
);
const redrivable = statement<OpenJob>(
  'sim.redrivable',
  `select j.id, j.kind, j.state from job j left join dispatch d on d.id = j.id
   where j.state = 'dead' or d.closed_reason = 'control_failed' or j.seq % 17 = 0 order by j.seq`,
);
const makeDue = statement<unknown>(
  'sim.make_due',
  `update human_request set due_at = clock_timestamp() where status = 'open' and due_at is not null`,
);

export function startTask(world: World, random: Random): Act | undefined {
  if (world.tasks.length >= mostTasks) return undefined;
  const { teams, database } = world.controller(random);
  const verify = random.chance(0.3) ? { verify: 'true' } : {};
  const input = taskStart.input.parse({ workflow_id: `team-${random.int(1, 2)}`, prompt: 'Do it.', ...verify });
  return async () => {
    const came = await world.whole('start', () =>
      database.transaction((tx) => teams.tasks.start(tx, { principal: 'p_00000001' }, input)),
    );
    if (came.came === 'ok') world.tasks.push({ id: came.answer.task_id, name: `T${world.tasks.length + 1}`, seen: [] });
  };
}
