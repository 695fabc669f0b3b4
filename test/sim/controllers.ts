import { join } from 'node:path';
import { bells } from '#contracts';
import { type Claimer, openQueue, type Queue, type Ring } from '#jobs';
import { type Database, openObjects, statement } from '#store';
import { openTeams, type Teams, type Vault } from '#teams';
import { Ringer } from '../../apps/controller/src/rings/ringer.js';
import { WaitingClaims } from '../../apps/controller/src/rings/waiting-claims.js';
import { TeamWorker } from '../support/team-farm.js';
import { Death, dyingDatabase } from './dying-database.js';
import { Violation, type World } from './world.js';

/** One of several controllers over the same rows and the same data folder. */
export interface Controller {
  readonly name: string;
  readonly database: Database;
  readonly queue: Queue;
  readonly teams: Teams;
  readonly ringer: Ringer;
  readonly death: Death;
  /** Loops that heard a ring since they looked last. */
  readonly rung: Set<'teams' | 'joins'>;
  /** How this controller knows a machine. */
  machine(claimer: Claimer): TeamWorker;
}

interface Ground {
  readonly database: Database;
  /** Controllers share it (D23). */
  readonly data: string;
  readonly vault: Vault;
}

export function openController(world: World, name: string, { database, data, vault }: Ground): Controller {
  const death = new Death();
  /** Whose claims wait here is a matter of its own: a submit is in the midst of another act. */
  const offers = world.random.fork();
  const mine = dyingDatabase(database, death);
  const rung: Controller['rung'] = new Set();
  const bell = {
    ring(subject: string) {
      const machine = world.machines.find(({ claimer }) => bells.worker(claimer.worker) === subject);
      if (machine) world.rings.ring(subject, () => machine.hear());
    },
    listen: () => () => {},
    connected: true,
    close: async () => {},
  };
  const ringer = new Ringer({
    bell,
    claims: new WaitingClaims(),
    liveWorkers: async () => world.machines.filter(({ state }) => state === 'awake').map((machine) => machine.heard()),
    now: () => world.now,
  });
  const teams = openTeams({
    database: mine,
    objects: openObjects(join(data, 'objects')),
    tasksFolder: join(data, 'tasks'),
    bell,
    queue: () => queue,
    machines: async () => [],
    vault,
    sources: { privateHosts: [], roots: [], dataFolder: data, mirrorsFolder: join(data, 'mirrors') },
    onPreparing: () => world.rings.ring(`teams of ${name}`, () => rung.add('teams')),
    onSettled: () => world.rings.ring(`joins of ${name}`, () => rung.add('joins')),
    onTrouble: (error, task) => world.trouble(`sweep of ${task}`, error),
  });
  const queue: Queue = openQueue({
    database: mine,
    kinds: [{ ...teams.dispatchKind, lanes: world.lanes }, teams.commandRunKind],
    mintJobToken: () => 'token',
    async offer(tx) {
      const waiting = world.machines.filter((machine) => machine.mayWait);
      const machine = offers.chance(0.5) ? offers.pick(waiting) : undefined;
      return machine ? machine.claimWithin(tx, queue, offers) : [];
    },
    ring(job) {
      world.looks.push(requireCommitted(world, job));
      ringer.ring(job);
    },
    onTrouble: (job, error) => world.trouble(`job ${job}`, error),
  });
  return {
    name,
    database: mine,
    queue,
    teams,
    ringer,
    death,
    rung,
    machine: (claimer) => new TeamWorker({ database: mine, queue, teams }, claimer),
  };
}

/** I4: what rings is there already, for everybody. Asked on another connection, at the moment of the ring. */
async function requireCommitted(world: World, { id, kind }: Ring): Promise<void> {
  const there = await world.database.first(isThere, { id });
  world.tally.count('asked of calls', 'I4');
  if (!there) world.troubles.push(new Violation('I4', 'a job rang before it was committed', `${kind} ${id}`));
}

const isThere = statement<{ id: string }>('sim.is_there', 'select id from job where id = $id');
