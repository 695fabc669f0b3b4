import { limits } from '#contracts';
import { aTeam } from './a-team.js';
import { openController } from './controllers.js';
import { competeFairly } from './fairness.js';
import type { Ground } from './ground.js';
import { Machine } from './machine.js';
import { quieten } from './quiet.js';
import { Random, seedIds } from './random.js';
import { Rings } from './rings.js';
import { prepare, startTask, steps } from './steps.js';
import type { Tally } from './tally.js';
import { Violation, World } from './world.js';

export interface SeedOptions {
  readonly seed: number;
  readonly steps: number;
  /** Each line as it happens. */
  readonly trace?: (line: string) => void;
}

export interface Failure {
  readonly seed: number;
  readonly step: number;
  readonly rule: string;
  readonly says: string;
  readonly seen: string;
  /** The last steps. */
  readonly lately: readonly string[];
}

/** Share of the steps that are two acts at once. */
const racing = 0.15;
/** Share of the acts in which a controller dies. */
const dying = 0.04;
const remembered = 20;

/** Lives one seed from its first Task to its last, and answers what did not hold. */
export async function runSeed(
  ground: Ground,
  tally: Tally,
  { seed, steps: most, trace }: SeedOptions,
): Promise<Failure | undefined> {
  seedIds(seed);
  await ground.clean();
  const random = new Random(seed);
  const lately: string[] = [];
  const say = (line: string) => {
    lately.push(line);
    if (lately.length > remembered * 6) lately.shift();
    trace?.(line);
  };
  const withWork = seed % 10 === 0;
  const lanes = random.oneOf(limits.lanesPerTask, 1, 2, 3);
  const open = (world: World) => [openController(world, 'A', ground), openController(world, 'B', ground)] as const;
  const world = new World(random, ground.outside, new Rings(random.fork()), tally, withWork, lanes, open, say);
  let step = 0;
  try {
    await furnish(world);
    for (step = 1; step <= most; step += 1) {
      say(`${step}`);
      await takeStep(world);
      await world.check();
    }
    await quieten(world);
    step += 1;
    await ground.count(tally);
    if (seed % 4 === 0) await competeFairly(world, random);
    await world.check();
    return undefined;
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    const { rule, says, seen } = error;
    return { seed, step, rule, says, seen, lately: lastSteps(lately) };
  }
}

function lastSteps(lines: readonly string[]): readonly string[] {
  const starts = lines.flatMap((line, n) => (/^\d/.test(line) ? [n] : []));
  return lines.slice(starts.at(-remembered) ?? 0);
}

async function furnish(world: World): Promise<void> {
  const { random } = world;
  const [{ teams, database }] = world.controllers;
  for (const id of ['team-1', 'team-2']) {
    const document = aTeam(id, random);
    const answer = await database.transaction((tx) => teams.workflows.import(tx, { document }));
    if (!answer.accepted) throw new Error(JSON.stringify(answer.issues));
  }
  for (let n = 1; n <= random.int(2, 4); n += 1) {
    const slots = random.int(1, 3);
    const claimer = { worker: `w${n}`, boot: random.uuid(), pool: 'default', labels: [], accounts: [], slots };
    world.machines.push(new Machine(world, claimer));
  }
  await world.furnishMachines();
  await startTask(world, random)?.();
  if (random.chance(0.8)) await prepare(world, world.controller(random));
}

async function takeStep(world: World): Promise<void> {
  const { random } = world;
  const dies = random.chance(dying) ? random.int(0, 12) : undefined;
  const races = dies === undefined && random.chance(racing);
  const acts = [await planned(world), races ? await planned(world) : undefined];
  for (const { death } of world.controllers) death.arm(dies);
  world.racing = races;
  try {
    const came = await Promise.allSettled(acts.map((act) => act?.()));
    for (const each of came) if (each.status === 'rejected') throw each.reason;
  } finally {
    world.racing = false;
    for (const { death } of world.controllers) death.arm(undefined);
  }
}

async function planned(world: World) {
  const { random } = world;
  for (let tries = 0; tries < 10; tries += 1) {
    const step = random.weighed(steps.map((each) => [each.weight, each] as const));
    const act = await step.plan(world, random.fork());
    if (!act) continue;
    world.say(`  ${step.name}`);
    world.tally.count('steps', step.name);
    return act;
  }
  return undefined;
}
