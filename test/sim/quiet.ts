import { statement } from '#store';
import { finishIn } from './member.js';
import { helpTask } from './people.js';
import { sweepsOf } from './steps.js';
import { Violation, type World } from './world.js';

/** Rounds of five seconds of farm time: far more than what is left of any Task needs. */
const mostRounds = 400;
const roundMs = 5_000;

/**
 * The end of a seed: nobody lies, sleeps or dies any more, each ring arrives, people do what they are asked to, machines work. Then
 * every Task comes to its end, and nothing is left over (I26).
 */
export async function quieten(world: World): Promise<void> {
  world.quiet = true;
  world.rings.sound = true;
  world.say('quiet');
  const [{ queue, database }] = world.controllers;
  await database.transaction((tx) => queue.setLimit(tx, 'global', null));
  for (const machine of world.machines) {
    if (machine.state === 'stopped') machine.state = 'awake';
    if (machine.state === 'gone') machine.boot();
  }
  for (let round = 1; round <= mostRounds; round += 1) {
    await liveOn(world, round);
    await world.check();
    if ((await world.database.first(atWork))?.left === 0) {
      world.tally.count('rounds to quiet', round < 20 ? 'under 20' : round < 60 ? 'under 60' : '60 and more');
      return world.checkRest();
    }
  }
  await world.checkRest();
  throw new Violation('I26', 'every Task has come to its end', `nothing moves after ${mostRounds} rounds`);
}

async function liveOn(world: World, round: number): Promise<void> {
  const { random } = world;
  while (world.rings.deliver() !== undefined);
  for (const [name, sweep] of sweepsOf(world, world.controller(random))) await world.call(name, sweep);
  const needed = new Set((await world.database.all(needing)).map(({ id }) => id));
  for (const task of world.tasks) if (needed.has(task.id)) await helpTask(world, task, random);
  if (round % 5 === 0) await putRight(world);
  for (const machine of world.machines) {
    await machine.beat(random);
    await machine.claim(random);
    for (const session of machine.live())
      if (machine.sessions.includes(session)) await finishIn(world, machine, session, random);
  }
  await world.pass(roundMs);
}

/** What waits for an operator: lanes that were given up, jobs whose machines were all excluded. */
async function putRight(world: World): Promise<void> {
  const { queue, database } = world.controller(world.random);
  for (const { id } of await world.database.all(givenUp))
    await world.call('redrive', () => database.transaction((tx) => queue.redrive(tx, id)));
  for (const { id } of await world.database.all(excluded))
    await world.call('requeue', () => database.transaction((tx) => queue.requeue(tx, id)));
}

const atWork = statement<{ left: number }>(
  'sim.at_work',
  `select (select count(*) from task where status not in ('completed', 'cancelled'))
     + (select count(*) from job where state in ('queued', 'held', 'leased')) as left`,
);
/** Tasks that wait for a person. */
const needing = statement<{ id: string }>(
  'sim.needing',
  `select id from task t where status = 'paused' or exists (select from human_request h where h.task = t.id and h.status = 'open')`,
);
const givenUp = statement<{ id: string }>(
  'sim.given_up',
  `select n.job as id from attention n join task t on t.id = n.task and t.status = 'running'
   where n.kind = 'lane_exhausted' and n.closed_at is null order by n.opened_at`,
);
const excluded = statement<{ id: string }>(
  'sim.excluded',
  `select j.id from job j where j.state = 'queued' and j.excluded <> '{}' and (j.kind <> 'command_run') order by j.seq`,
);
