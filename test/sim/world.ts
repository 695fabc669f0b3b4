import { FarmError } from '#contracts';
import { type Database, statement } from '#store';
import type { Controller } from './controllers.js';
import { ControllerDied } from './dying-database.js';
import { afterSweep, allInvariants, atRest, type Invariant } from './invariants.js';
import type { Machine } from './machine.js';
import type { Random } from './random.js';
import type { Rings } from './rings.js';
import type { Tally } from './tally.js';

/** A promise that did not hold: the end of a seed. */
export class Violation extends Error {
  constructor(
    readonly rule: string,
    readonly says: string,
    readonly seen: string,
  ) {
    super(`${rule}: ${says}: ${seen}`);
  }
}

export interface SimTask {
  readonly id: string;
  /** For the trace: the first is T1. */
  readonly name: string;
  /** Action ids of views that people looked at, oldest first. */
  readonly seen: SeenAction[];
}

export interface SeenAction {
  readonly what: 'pause' | 'resume' | 'cancel' | 'answer' | 'steer' | 'command';
  readonly action: string;
  /** Request, member or command that it is of. */
  readonly of: string;
}

/** What one call came to. */
export type Came<T> =
  | { readonly came: 'ok'; readonly answer: T }
  | { readonly came: 'refused'; readonly code: string }
  | { readonly came: 'died' };

/** One seed's farm, and everything that is known of it from outside. */
export class World {
  /** Farm time in milliseconds since the seed began: it moves with `pass` alone (D26). */
  now = 0;
  /** The end of the seed: everything is well but what was broken before. */
  quiet = false;
  /** Two acts at once: what one of them changes is not the other's fault. */
  racing = false;
  readonly tasks: SimTask[] = [];
  readonly machines: Machine[] = [];
  controllers: readonly [Controller, Controller];
  /** Seen where nobody could throw: in a callback, or beside a call. */
  readonly troubles: Violation[] = [];
  private checked: string | undefined;
  /** Looks that a callback began. */
  readonly looks: Promise<void>[] = [];

  constructor(
    readonly random: Random,
    readonly database: Database,
    readonly rings: Rings,
    readonly tally: Tally,
    /** Work that is captured by git: dear. */
    readonly withWork: boolean,
    /** Of one Task at once: few, so that some wait. */
    readonly lanes: number,
    open: (world: World) => readonly [Controller, Controller],
    private readonly trace: (line: string) => void,
  ) {
    this.controllers = open(this);
  }

  controller(random: Random): Controller {
    return random.oneOf(...this.controllers);
  }

  say(line: string): void {
    this.trace(line);
  }

  async pass(ms: number): Promise<void> {
    await this.database.run(passTime, { ms });
    this.now += ms;
  }

  /** What each machine may hold, where the invariants look. */
  async furnishMachines(): Promise<void> {
    await this.database.run(setLanes, { lanes: this.lanes });
    for (const { claimer } of this.machines)
      await this.database.run(addMachine, { worker: claimer.worker, slots: claimer.slots });
  }

  /** A call that may be refused; anything but a refusal by name is a fault. */
  async call<T>(name: string, act: () => Promise<T>): Promise<Came<T>> {
    try {
      const answer = await act();
      this.tally.count('calls', `${name}: ok`);
      this.say(`  ${name}: ok`);
      return { came: 'ok', answer };
    } catch (error) {
      const came = this.judge(name, error);
      this.say(`  ${name}: ${came.came === 'refused' ? came.code : came.came}`);
      return came;
    }
  }

  private judge(name: string, error: unknown): Came<never> {
    if (error instanceof ControllerDied) {
      this.tally.count('calls', `${name}: controller died`);
      return { came: 'died' };
    }
    if (error instanceof FarmError) {
      this.tally.count('calls', `${name}: ${error.code}`);
      return { came: 'refused', code: error.code };
    }
    throw faultOf(name, error);
  }

  /** A call in one transaction of which nothing stays when its controller dies (P1). */
  async whole<T>(name: string, act: () => Promise<T>): Promise<Came<T>> {
    const before = this.controllers.some(({ death }) => death.armed) ? await this.digest() : undefined;
    const came = await this.call(name, act);
    if (came.came === 'died' && before !== undefined) {
      this.tally.count('asked of calls', 'P1');
      await this.requireUnchanged('P1', name, before);
    }
    return came;
  }

  /** A call that must be refused and change nothing. */
  async refused(rule: string, name: string, act: () => Promise<unknown>, codes: readonly string[] = []): Promise<void> {
    const before = await this.digest();
    const came = await this.call(name, act);
    this.tally.count('asked of calls', rule);
    if (came.came === 'ok' && !this.racing) throw new Violation(rule, 'a call that must be refused was heard', name);
    if (came.came === 'refused' && codes.length > 0 && !codes.includes(came.code) && !this.racing)
      throw new Violation(rule, `was refused by another name than ${codes.join(' or ')}`, `${name}: ${came.code}`);
    await this.requireUnchanged(rule, name, before);
  }

  async requireUnchanged(rule: string, name: string, before: string): Promise<void> {
    if (this.racing) return;
    const after = await this.digest();
    if (after !== before)
      throw new Violation(rule, 'a call that came to nothing changed rows', `${name}: ${before} → ${after}`);
  }

  /** Changes with every committed write of a row of the domain, and with nothing else. */
  async digest(): Promise<string> {
    const row = await this.database.first(digestRows);
    return row?.digest ?? '';
  }

  /** Something that a callback saw. */
  trouble(name: string, error: unknown): void {
    if (error instanceof ControllerDied) return;
    this.troubles.push(error instanceof Violation ? error : faultOf(name, error));
  }

  /** Where nothing was written everything holds that held before. @throws Violation the first that does not hold */
  async check(): Promise<void> {
    await Promise.all(this.looks.splice(0));
    const [trouble] = this.troubles;
    if (trouble) throw trouble;
    const digest = await this.digest();
    if (digest === this.checked) return;
    this.checked = digest;
    this.tally.count('asked of rows', 'times');
    const [broken] = await this.database.all(checkAll);
    if (broken) throw new Violation(broken.rule, broken.says, broken.seen);
  }

  /** @throws Violation what a sweep of lanes has left */
  async checkSwept(): Promise<void> {
    if (this.racing) return;
    const [broken] = await this.database.all(restOf(afterSweep));
    if (broken) throw new Violation(afterSweep.rule, afterSweep.says, broken.seen);
    this.tally.count('asked of calls', afterSweep.rule);
  }

  /** @throws Violation what is left when all should be over */
  async checkRest(): Promise<void> {
    for (const invariant of atRest) {
      const [broken] = await this.database.all(restOf(invariant));
      if (broken) throw new Violation(invariant.rule, invariant.says, broken.seen);
    }
    for (const { id } of this.tasks) {
      const [broken] = await this.database.all(brokenChain, { task: id });
      if (broken) throw new Violation('I19', 'the record is chained by hashes', `${id}: fact ${broken.seq}`);
    }
  }
}

function faultOf(name: string, error: unknown): Violation {
  if (error instanceof Violation) return error;
  const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Violation('fault', 'a call failed without a name of its own', `${name}: ${told.slice(0, 1500)}`);
}

const passTime = statement<unknown>(
  'sim.pass_time',
  `update farm_clock set farm_at = farm_at + $ms::float8 * interval '1 ms'`,
);

const setLanes = statement<unknown>('sim.set_lanes', `insert into sim_lanes (lanes) values ($lanes)`);
const addMachine = statement<unknown>(
  'sim.add_machine',
  `insert into sim_machine (worker, slots) values ($worker, $slots)`,
);

const checkAll = statement<{ rule: string; says: string; seen: string }>('sim.check', allInvariants);
const restOf = (invariant: Invariant) =>
  statement<{ seen: string }>(
    `sim.rest_${invariant.rule}`,
    `select left(b.seen::text, 600) as seen from (${invariant.breaks}) b limit 3`,
  );

/** Computed here from what the rules say of it, and not by the statement that the farm has for it. */
const brokenChain = statement<{ seq: number }>(
  'sim.chain',
  `select seq from (
     select e.*, lag(hash) over (order by seq) as before from task_event e where task = $task
   ) e where hash <> sha256(coalesce(before, ''::bytea) || convert_to(jsonb_build_array(
     task, seq, type, source, payload, principal, (extract(epoch from at) * 1000000)::bigint)::text, 'UTF8')) limit 1`,
);

const digested = [
  ...[
    'job',
    'lease',
    'signal',
    'task',
    'team_revision',
    'team_member',
    'assignment',
    'dispatch',
    'handover',
    'checkpoint',
  ],
  ...['wave', 'wave_member', 'human_request', 'command_run', 'task_event', 'steer', 'attention'],
];
/** The newest writer of a row, and how many there are. */
const digestRows = statement<{ digest: string }>(
  'sim.digest',
  `select string_agg(d, ' ') as digest from (${digested
    .map((table) => `select '${table}:' || count(*) || ':' || coalesce(max(xmin::text::bigint), 0) as d from ${table}`)
    .join(' union all ')}) t`,
);
