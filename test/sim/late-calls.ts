import { randomUUID } from 'node:crypto';
import type { Claimer } from '#jobs';
import type { Controller } from './controllers.js';
import { isDispatch, type Machine, type Past, type Session } from './machine.js';
import type { Random } from './random.js';
import { Violation, type World } from './world.js';

type Held = Pick<Past, 'name' | 'lease' | 'claimer'>;

/** A machine that slept, was copied, or lies: whatever it says under a lease that is not its own is refused and changes nothing. */
export async function callLate(world: World, machine: Machine, random: Random): Promise<void> {
  const past = random.pick(machine.past.filter(({ overAt }) => overAt <= world.now));
  const frozen = random.pick(machine.frozen());
  const live = random.pick(world.machines.flatMap((other) => other.live()));
  const choices: (readonly [number, () => Promise<void>])[] = [];
  if (past)
    choices.push(
      [2, () => speak(world, { what: 'over', rule: 'D13' }, past, random)],
      [1, () => endOtherwise(world, past, random)],
    );
  if (frozen) choices.push([6, () => speak(world, { what: 'frozen', rule: 'A12.6' }, frozen, random)]);
  if (live) choices.push([3, () => forge(world, live, random)]);
  if (choices.length > 0) await random.weighed(choices)();
}

interface Lie {
  readonly what: string;
  readonly rule: string;
}

async function speak(world: World, { what, rule }: Lie, { name, lease, claimer }: Held, random: Random): Promise<void> {
  const controller = world.controller(random);
  const member = controller.machine(claimer);
  const call = random.weighed<readonly [string, () => Promise<unknown>]>([
    [2, ['beats', async () => requireLost(await member.beat(lease, 'started'))]],
    [1, ['tells', () => member.checkpoint(lease, { summary: 'Late' })]],
    [1, ['hands over', () => member.checkpoint(lease, { summary: 'Late', outcome: 'green' })]],
    [1, ['plans', () => member.plan(lease, [{ step: 'Late', status: 'pending' }])]],
    [1, ['looks', () => member.context(lease)]],
    [1, ['fails', () => failOtherwise(controller, { lease, claimer })]],
    [4, ['ends', () => member.complete(lease, isDispatch({ lease }) ? 'crashed' : 'done', { detail: randomUUID() })]],
  ]);
  const [does, act] = call;
  if (does === 'beats') return beatLate(world, rule, `${name} (${what}) beats`, act);
  await world.refused(rule, `${name} (${what}) ${does}`, act, ['stale_lease', 'conflict', 'invalid_input']);
}

/** In words that nobody has failed with: the same failure again is answered the same (A12.9). */
function failOtherwise(
  { database, queue }: Controller,
  { lease, claimer }: Pick<Held, 'lease' | 'claimer'>,
): Promise<unknown> {
  const fence = { job_id: lease.id, epoch: lease.epoch, lease_id: lease.lease_id };
  const failure = { reason: 'job_error', retryable: true, detail: randomUUID() } as const;
  return database.transaction((tx) => queue.fail(tx, claimer, fence, failure));
}

/** A beat is answered: that the lease is lost. */
async function beatLate(world: World, rule: string, name: string, act: () => Promise<unknown>): Promise<void> {
  const before = await world.digest();
  const came = await world.call(name, act);
  world.tally.count('asked of calls', rule);
  if (came.came === 'ok' && came.answer !== true && !world.racing)
    throw new Violation(rule, 'a lost lease was renewed', name);
  await world.requireUnchanged(rule, name, before);
}

function requireLost(reply: { readonly held: boolean } | undefined): boolean {
  return reply?.held === false;
}

/** Who ended a lease with one result does not end it with another; the same again is the same. */
async function endOtherwise(world: World, past: Past, random: Random): Promise<void> {
  if (!past.closing) return;
  const member = world.controller(random).machine(past.claimer);
  const { ended, result } = past.closing;
  const other = { ...result, detail: randomUUID() };
  await world.refused(
    'D13',
    `${past.name} ends once more, otherwise`,
    () => member.complete(past.lease, ended, other),
    ['conflict', 'invalid_input', 'stale_lease'],
  );
  const came = await world.call(`${past.name} ends once more, the same`, () =>
    member.complete(past.lease, ended, result),
  );
  world.tally.count('asked of calls', 'A12.9');
  if (came.came === 'refused' || (came.came === 'ok' && JSON.stringify(came.answer) !== JSON.stringify(past.answer)))
    throw new Violation(
      'A12.9',
      'the same end again is answered the same',
      `${past.name}: ${JSON.stringify([came, past.answer])}`,
    );
}

/** One part of a live lease's fence is wrong. */
async function forge(world: World, session: Session, random: Random): Promise<void> {
  const { lease, claimer } = session;
  const thief: Claimer = { ...claimer, worker: 'thief' };
  const forged = random.oneOf<Held & { readonly part: string }>(
    { part: 'holder', name: session.name, lease, claimer: thief },
    { part: 'boot', name: session.name, lease, claimer: { ...claimer, boot: randomUUID() } },
    { part: 'epoch', name: session.name, lease: { ...lease, epoch: lease.epoch + 1 }, claimer },
    {
      part: 'epoch',
      name: session.name,
      lease: { ...lease, epoch: Math.max(1, lease.epoch - 1), lease_id: randomUUID() },
      claimer,
    },
    { part: 'lease_id', name: session.name, lease: { ...lease, lease_id: randomUUID() }, claimer },
  );
  await speak(world, { what: `forged ${forged.part}`, rule: 'H14' }, forged, random);
}
