import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { DispatchPayload, Ended, FailReason, JobPhase, LeaseBeat, LeasedJob, LeaseReply } from '#contracts';
import type { LiveWorker } from '#gate';
import type { Claimer, Queue } from '#jobs';
import type { Transaction } from '#store';
import type { TeamWorker } from '../support/team-farm.js';
import type { Controller } from './controllers.js';
import type { Random } from './random.js';
import { Violation, type World } from './world.js';

/** What a machine knows of a lease that it holds, or thinks it holds. */
export interface Session {
  readonly name: string;
  readonly lease: LeasedJob;
  readonly claimer: Claimer;
  /** When the lease ends, by the last answer that was heard. */
  until: number;
  begun: boolean;
  /** What the farm wants of it. */
  end: 'cancel' | 'pause' | undefined;
  /** The handover that the door has kept. */
  said: Said | undefined;
  /** Handovers that were refused: after three the session ends silent. */
  refusals: number;
  readonly acks: LeaseBeat['acks'][number][];
  /** An operator has taken the job from it, and it has not heard so. */
  taken: boolean;
}

export interface Said {
  readonly name: string;
  readonly callId: string;
  /** The same words again, to whichever controller. */
  readonly again: (member: TeamWorker, lease: LeasedJob, callId: string) => Promise<unknown>;
}

interface Closing {
  readonly ended: Ended;
  readonly result: Readonly<Record<string, unknown>>;
}

/** A lease that is over for its machine. */
export interface Past extends Pick<Session, 'name' | 'lease' | 'claimer'> {
  /** When the farm sees so too, at the latest: a machine that was started anew has forgotten a lease that may still live. */
  readonly overAt: number;
  /** How it was ended, and what the farm answered; absent: it was lost. */
  readonly closing?: Closing;
  readonly answer?: unknown;
}

const mostPast = 12;

/**
 * A worker's machine. `stopped` it hears and says nothing, like under SIGSTOP, and wakes with all that it held; `gone` it has lost
 * everything but its disk, and comes back under another boot.
 */
export class Machine {
  state: 'awake' | 'stopped' | 'gone' = 'awake';
  rung = false;
  sessions: Session[] = [];
  readonly past: Past[] = [];

  constructor(
    private readonly world: World,
    public claimer: Claimer,
  ) {}

  hear(): void {
    this.rung = true;
  }

  heard(): LiveWorker {
    const { worker, boot, pool, slots } = this.claimer;
    const busy = this.sessions.length;
    const offers = { labels: [], accounts: [], offers: [], unusable: [] };
    return { kind: 'worker', id: worker, name: worker, boot, pool, slots, busy, accepting: true, ...offers };
  }

  /** Sessions whose lease has not run out, by what was heard. */
  live(): Session[] {
    return this.sessions.filter(({ until }) => until > this.world.now);
  }

  /** The guardian froze them at the end of their lease (D11). */
  frozen(): Session[] {
    return this.sessions.filter(({ until }) => until <= this.world.now);
  }

  /** Under another boot nothing goes on. */
  boot(): void {
    for (const session of [...this.sessions]) this.drop(session, { overAt: session.until });
    this.claimer = { ...this.claimer, boot: randomUUID() };
    this.state = 'awake';
  }

  drop(session: Session, how: Pick<Past, 'closing' | 'answer'> & { readonly overAt?: number } = {}): void {
    this.sessions = this.sessions.filter((other) => other !== session);
    const { name, lease, claimer } = session;
    this.past.push({ name, lease, claimer, overAt: 0, ...how });
    if (this.past.length > mostPast) this.past.shift();
  }

  async claim(random: Random): Promise<void> {
    const { world, claimer } = this;
    this.rung = false;
    const controller = world.controller(random);
    const frozen = this.frozen();
    const request = {
      request_id: random.uuid(),
      limit: random.int(1, 3),
      frozen: frozen.map(({ lease }) => ({ job_id: lease.id, lease_id: lease.lease_id })),
      nothing_new: frozen.length > 0 && random.chance(0.3),
    };
    const together = frozen.length === 0 && random.chance(0.5);
    const ask = (at: Controller) =>
      at.database.transaction(async (tx) => {
        if (!together) return at.queue.claim(tx, claimer, request);
        const [answers] = await at.queue.claimTogether(tx, [{ claimer, requests: [request] }]);
        return answers?.[0] ?? at.queue.claim(tx, claimer, request);
      });
    const came = await world.whole(`claim by ${claimer.worker}`, () => ask(controller));
    // The reply was lost: asked for again, anywhere, it is the same leases (H7).
    const again = came.came === 'died' || random.chance(0.15);
    const second = again
      ? await world.call(`claim again by ${claimer.worker}`, () => ask(world.controller(random)))
      : came;
    if (second.came !== 'ok') return;
    if (came.came === 'ok' && again && !world.racing) this.requireSame(came.answer, second.answer);
    this.take(second.answer, frozen);
  }

  /** A claim of it may wait at a controller. */
  get mayWait(): boolean {
    return this.state === 'awake' && this.sessions.length < this.claimer.slots && this.frozen().length === 0;
  }

  /** As a claim that waits: in the transaction of whoever makes a job. Answers what it was given there. */
  async claimWithin(tx: Transaction, queue: Queue, random: Random): Promise<readonly string[]> {
    const { claimer, world } = this;
    const request = { request_id: random.uuid(), limit: random.int(1, 3) };
    const isLost = random.chance(0.15);
    const given = await tx.attempt(async () => {
      if (!(await queue.mayClaimNow(tx, claimer))) return [];
      const [answers] = await queue.claimTogether(tx, [{ claimer, requests: [request] }]);
      return answers?.[0] ?? [];
    });
    const jobs = given ?? [];
    tx.afterCommit(() => {
      if (jobs.length > 0) world.tally.count('claims', isLost ? 'waiting, answer lost' : 'waiting');
      if (!isLost && this.claimer === claimer && this.state === 'awake') this.take(jobs, []);
    });
    return jobs.map(({ id }) => id);
  }

  private requireSame(first: readonly LeasedJob[], second: readonly LeasedJob[]): void {
    this.world.tally.count('asked of calls', 'H7');
    const named = (jobs: readonly LeasedJob[]) =>
      jobs.map(({ id, epoch, lease_id, continues }) => ({ id, epoch, lease_id, continues }));
    // What was frozen is continued the first time; the second answer is about the new lease.
    if (!isDeepStrictEqual(named(first), named(second)))
      throw new Violation(
        'H7',
        'a claim that is repeated gives the same leases',
        JSON.stringify([named(first), named(second)]),
      );
  }

  private take(jobs: readonly LeasedJob[], frozen: readonly Session[]): void {
    for (const lease of jobs) {
      const before = frozen.find((session) => session.lease.id === lease.id);
      const goesOn = lease.continues && before !== undefined;
      this.sessions = this.sessions.filter((session) => session.lease.id !== lease.id);
      this.sessions.push({
        name: nameOf(this.world, lease),
        lease,
        claimer: this.claimer,
        until: this.world.now + lease.lease_ms,
        begun: goesOn && before.begun,
        end: undefined,
        said: goesOn ? before.said : undefined,
        refusals: 0,
        acks: [],
        taken: false,
      });
      this.world.say(`    ${this.claimer.worker} has ${nameOf(this.world, lease)}${goesOn ? ', going on' : ''}`);
    }
    // Another has it, or it waits for something: its tree is ended and its work is a rescue (D11).
    for (const session of frozen) if (this.sessions.includes(session)) this.drop(session);
  }

  /** Beats for what it holds. `odd`: says now and then that the session is silent, or repeats an older phase. */
  async beat(random: Random, sessions: readonly Session[] = this.live()): Promise<void> {
    const { world, claimer } = this;
    if (sessions.length === 0) return;
    const controller = world.controller(random);
    const beats = sessions.map((session) => this.beatOf(session, random));
    const came = await world.call(`beat of ${claimer.worker}`, () => controller.queue.heartbeat(claimer, beats));
    if (came.came !== 'ok') return;
    for (const reply of came.answer) {
      const session = sessions.find(({ lease }) => lease.id === reply.job_id);
      if (session && this.sessions.includes(session)) this.listen(session, reply, random);
    }
  }

  private beatOf(session: Session, random: Random): LeaseBeat {
    const { id, epoch, lease_id } = session.lease;
    const phase: JobPhase = session.begun || random.chance(0.5) ? 'started' : 'preparing';
    const idle_ms = random.chance(0.01) ? 51 * 60_000 : 0;
    const progress = isDispatch(session) && random.chance(0.1) ? { usage: { requests: 1 } } : undefined;
    if (phase === 'started') session.begun = true;
    const acks = session.acks.splice(0);
    return { job_id: id, epoch, lease_id, phase, idle_ms, acks, ...(progress && { progress }) };
  }

  private listen(session: Session, reply: LeaseReply, random: Random): void {
    if (!reply.held) {
      const early = session.until > this.world.now && !session.taken && session.end !== 'cancel';
      if (early && !this.world.racing && this.world.quiet)
        throw new Violation('A12.6', 'a lease was lost while its holder beat in time', session.name);
      this.drop(session);
      return;
    }
    session.until = this.world.now + reply.lease_ms;
    session.end = reply.end?.kind;
    for (const { seq } of reply.steer ?? [])
      session.acks.push({
        seq,
        outcome: random.weighed([
          [6, 'delivered'],
          [2, 'queued'],
          [1, 'not_running'],
          [1, 'uncertain'],
        ]),
      });
  }

  /** Ends a lease with a result, maybe twice; what is refused leaves the session where it was. Answers what it was refused for. */
  async complete(
    session: Session,
    ended: Ended,
    result: Closing['result'],
    random: Random,
  ): Promise<string | undefined> {
    const { world } = this;
    const { lease, claimer } = session;
    const closing = { ended, result };
    const end = (at: Controller) => at.machine(claimer).complete(lease, ended, result);
    const name = `${session.name} ends ${ended}`;
    const came = await world.whole(name, () => end(world.controller(random)));
    const again = came.came !== 'refused' && (came.came === 'died' || random.chance(0.15));
    const last = again ? await world.call(`${name} again`, () => end(world.controller(random))) : came;
    if (came.came === 'ok' && again && !world.racing) {
      world.tally.count('asked of calls', 'W9');
      if (last.came !== 'ok' || !isDeepStrictEqual(last.answer, came.answer))
        throw new Violation(
          'W9',
          'an end that is said twice is answered the same',
          `${name}: ${JSON.stringify([came, last])}`,
        );
    }
    if (last.came === 'ok') {
      this.drop(session, { closing, answer: last.answer });
      world.tally.count('ends', `${lease.kind} ${ended}`);
      return undefined;
    }
    if (last.came === 'refused' && last.code === 'stale_lease') this.drop(session);
    return last.came === 'refused' ? last.code : last.came;
  }

  async fail(session: Session, reason: FailReason, retryable: boolean, random: Random): Promise<void> {
    const { world } = this;
    const controller = world.controller(random);
    const came = await world.whole(`${session.name} fails ${reason}`, () =>
      controller.machine(session.claimer).fail(session.lease, reason, retryable),
    );
    if (came.came === 'died') return;
    if (came.came === 'ok') world.tally.count('ends', `${session.lease.kind} failed ${reason}`);
    this.drop(session);
  }
}

export function isDispatch(session: Pick<Session, 'lease'>): boolean {
  return session.lease.kind === 'dispatch';
}

export function payloadOf({ lease }: Pick<Session, 'lease'>): Partial<Pick<DispatchPayload, 'task_id' | 'member_id'>> {
  const { payload } = lease;
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return {};
  const { task_id, member_id } = payload;
  return { ...(typeof task_id === 'string' && { task_id }), ...(typeof member_id === 'string' && { member_id }) };
}

/** By what stays the same when a seed is run again: never by an id. */
function nameOf(world: World, lease: LeasedJob): string {
  const { task_id, member_id } = payloadOf({ lease });
  const task = world.tasks.find(({ id }) => id === task_id)?.name;
  const kind = lease.kind === 'command_run' ? ' (command)' : '';
  return task === undefined ? `${lease.kind} e${lease.epoch}` : `${task} ${member_id ?? '?'}${kind} e${lease.epoch}`;
}
