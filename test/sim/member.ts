import type { z } from 'zod';
import type { CheckpointInput, getCurrentContext, NewMember, OutputOf, openHumanRequest } from '#contracts';
import type { TeamWorker } from '../support/team-farm.js';
import { isDispatch, type Machine, payloadOf, type Said, type Session } from './machine.js';
import type { Random } from './random.js';
import { Violation, type World } from './world.js';

type Context = OutputOf<typeof getCurrentContext>;

/** One thing that a session does: a member at its turn, a command that runs, or a plain job. */
export async function actIn(world: World, machine: Machine, session: Session, random: Random): Promise<void> {
  if (session.end !== undefined && random.chance(0.8)) return stop(machine, session, random);
  if (!session.begun && random.chance(0.85)) return begin(machine, session, random);
  if (session.lease.kind === 'command_run') return endCommand(machine, session, random);
  if (!isDispatch(session)) return endPlain(machine, session, random);
  if (session.said) return afterHandover(world, machine, session, random);
  return takeTurn(world, machine, session, random);
}

/** The same, with the end in mind: nothing is broken off, nothing is made larger. */
export async function finishIn(world: World, machine: Machine, session: Session, random: Random): Promise<void> {
  if (session.end === undefined && !session.begun) await machine.beat(random, [begunSession(session)]);
  if (!machine.sessions.includes(session)) return;
  if (session.end !== undefined) return stop(machine, session, random);
  if (session.lease.kind === 'command_run')
    return void (await machine.complete(session, 'exited', { exit_code: 0 }, random));
  if (!isDispatch(session)) return void (await machine.complete(session, 'done', {}, random));
  if (!session.said && session.refusals < 3) await handOver(world, session, random, { toTheEnd: true });
  if (session.said) return handIn(world, machine, session, random);
  await machine.complete(session, 'silent', {}, random);
}

function begunSession(session: Session): Session {
  session.begun = true;
  return session;
}

async function begin(machine: Machine, session: Session, random: Random): Promise<void> {
  const does = random.weighed([
    [20, 'starts'],
    [1, 'provider_start'],
    [1, 'environment'],
    [1, 'prepare_failed'],
    [0.3, 'capture_failed'],
    [0.5, 'account_refused'],
  ]);
  if (does === 'starts') return machine.beat(random, [begunSession(session)]);
  await machine.fail(session, does, random.chance(0.9), random);
}

/** It was told to: stops, hands in what is there, ends. */
async function stop(machine: Machine, session: Session, random: Random): Promise<void> {
  const command = session.lease.kind === 'command_run';
  if (session.said && random.chance(0.5))
    return void (await machine.complete(session, 'handover', { handover: { call_id: session.said.callId } }, random));
  const ended = session.end === 'cancel' || command ? 'cancelled' : 'paused';
  await machine.complete(session, isDispatch(session) || command ? ended : 'done', {}, random);
}

async function endCommand(machine: Machine, session: Session, random: Random): Promise<void> {
  const ended = random.weighed([
    [6, 'exited'],
    [1, 'timed_out'],
    [1, 'launch_failed'],
    [0.5, 'cancelled'],
  ]);
  const tail = 'what it said';
  await machine.complete(session, ended, ended === 'exited' ? { exit_code: random.int(0, 1), tail } : { tail }, random);
}

async function endPlain(machine: Machine, session: Session, random: Random): Promise<void> {
  if (random.chance(0.7)) await machine.complete(session, 'done', { n: random.int(0, 9) }, random);
  else await machine.fail(session, 'job_error', random.chance(0.8), random);
}

async function takeTurn(world: World, machine: Machine, session: Session, random: Random): Promise<void> {
  const does = random.weighed([
    [8, 'hands over'],
    [1, 'plans'],
    [1, 'tells'],
    [1.5, 'breaks a rule'],
    [1.5, 'ends'],
  ]);
  if (does === 'hands over') return handOver(world, session, random, { toTheEnd: false });
  if (does === 'breaks a rule') return breakRule(world, session, random);
  if (does === 'ends') return endSession(world, machine, session, random);
  const member = memberOf(world, session, random);
  if (does === 'plans') {
    const steps = [
      { step: `Step ${random.int(1, 3)}`, status: random.oneOf('pending' as const, 'completed' as const) },
    ];
    await world.whole(`${session.name} plans`, () => member.plan(session.lease, random.chance(0.8) ? steps : []));
  } else {
    await world.whole(`${session.name} tells`, () =>
      member.checkpoint(session.lease, { summary: 'So far' }, random.uuid()),
    );
  }
  session.begun = true;
}

async function endSession(world: World, machine: Machine, session: Session, random: Random): Promise<void> {
  const ended = random.weighed([
    [3, 'silent'],
    [3, 'crashed'],
    [1, 'limited'],
    [1, 'machine'],
    [2, 'drained'],
    [0.5, 'cancelled'],
    [0.5, 'paused'],
  ]);
  const work = await workOf(world, session, random);
  await machine.complete(session, ended, work, random);
}

function memberOf(world: World, { claimer }: Session, random: Random): TeamWorker {
  return world.controller(random).machine(claimer);
}

/** After a handover nothing is heard but the same handover, until the work arrives (I5, D2, D6). */
async function afterHandover(world: World, machine: Machine, session: Session, random: Random): Promise<void> {
  const { said } = session;
  if (!said) return;
  const member = memberOf(world, session, random);
  const does = random.weighed([
    [14, 'hands in'],
    [1, 'says it again'],
    [1.5, 'calls on'],
    [0.7, 'ends silent'],
    [0.7, 'ends otherwise'],
  ]);
  if (does === 'hands in') return handIn(world, machine, session, random);
  if (does === 'says it again')
    return void (await world.whole(`${session.name} says again ${said.name}`, () =>
      said.again(member, session.lease, random.uuid()),
    ));
  if (does === 'ends otherwise')
    return void (await machine.complete(session, random.oneOf('drained', 'paused'), {}, random));
  const act =
    does === 'ends silent'
      ? () => member.complete(session.lease, random.oneOf('silent', 'crashed'), {})
      : random.oneOf<() => Promise<unknown>>(
          () => member.plan(session.lease, [{ step: 'Too late', status: 'pending' }]),
          () => member.checkpoint(session.lease, { summary: 'Too late' }, random.uuid()),
          () => member.checkpoint(session.lease, { summary: 'Another end', outcome: 'blocked' }, random.uuid()),
          () => member.context(session.lease),
          () => member.removeChild(session.lease, 'lead', random.uuid()),
        );
  await world.refused('I5', `${session.name} ${does} after its handover`, act);
}

async function handIn(world: World, machine: Machine, session: Session, random: Random): Promise<void> {
  const { said } = session;
  if (!said) return;
  const work = await workOf(world, session, random);
  const refusal = await machine.complete(session, 'handover', { handover: { call_id: said.callId }, ...work }, random);
  if (said.name.endsWith('with files')) {
    if (refusal === undefined)
      throw new Violation('I22', 'a file that is named is there', `${session.name}: ${said.name}`);
    world.tally.count('asked of calls', 'I22');
  }
  if (refusal === undefined) return world.tally.count('handed in', said.name.replace(/ .*/, ''));
  // It leaves its place to another one (D1); whatever else went wrong, it stands.
  if (refusal !== 'handover_refused') return;
  session.refusals += 1;
  session.said = undefined;
}

/** A real commit on the base of the Dispatch, uploaded; dear, so that only some seeds have it. */
async function workOf(world: World, session: Session, random: Random): Promise<{ readonly commit?: string }> {
  if (!world.withWork || random.chance(0.4)) return {};
  const { member_id = 'nobody' } = payloadOf(session);
  const own = random.chance(0.7);
  const files = { [own ? `${member_id}.txt` : 'shared.txt']: `${session.name} ${random.bits()}\n` };
  const member = memberOf(world, session, random);
  const captured = await world.call(`${session.name} captures`, () => member.work(session.lease, files));
  if (captured.came !== 'ok') return {};
  const came = await world.call(`${session.name} uploads`, () => member.upload(session.lease, captured.answer));
  world.tally.count('work', own ? 'of its own' : 'shared');
  return came.came === 'ok' ? { commit: captured.answer.commit } : {};
}

interface Words {
  /** As short as the rules allow. */
  readonly toTheEnd: boolean;
}

async function handOver(world: World, session: Session, random: Random, { toTheEnd }: Words): Promise<void> {
  const member = memberOf(world, session, random);
  const came = await world.whole(`${session.name} looks`, () => member.context(session.lease));
  if (came.came !== 'ok') {
    session.refusals += 1;
    return;
  }
  session.begun = true;
  const words = toTheEnd ? lastWords(came.answer, session, random) : someWords(came.answer, random);
  const callId = random.uuid();
  const said = await world.whole(`${session.name}: ${words.name}`, () => words.again(member, session.lease, callId));
  if (said.came === 'ok') session.said = { ...words, callId };
  else session.refusals += 1;
}

type Words1 = Omit<Said, 'callId'>;

function checkpoint(body: z.input<typeof CheckpointInput>): Words1 {
  return {
    name: `${body.outcome} ${body.files ? 'with files' : ''}`.trim(),
    again: (member, lease, callId) => member.checkpoint(lease, body, callId),
  };
}

function delegateTo(ids: readonly string[]): Words1 {
  const assignments = ids.map((child_id) => ({ child_id, prompt: `Do your part, ${child_id}.` }));
  return {
    name: `delegate ${ids.length}`,
    again: (member, lease, callId) => member.delegate(lease, { assignments }, callId),
  };
}

/** Green as soon as the rules let it; else whoever is missing gets work; else blocked. Who may ask does so now and then. */
function lastWords(context: Context, session: Session, random: Random): Words1 {
  const { direct_team, available_actions } = context;
  if (available_actions.includes('open_human_request') && random.chance(0.2)) return aQuestionOf(context, random);
  const team = teammates(direct_team);
  const missing = team.filter(({ participation }) => participation === 'required');
  if (missing.length === 0) return checkpoint({ summary: 'Done', outcome: 'green' });
  const free = missing.filter(({ availability }) => availability === 'available').slice(0, 8);
  if (session.refusals > 0 || free.length === 0 || !available_actions.includes('delegate'))
    return checkpoint({ summary: 'It can not be done', outcome: 'blocked' });
  return delegateTo(free.map(({ id }) => id));
}

function someWords(context: Context, random: Random): Words1 {
  const { available_actions } = context;
  const may = (name: string, weight: number) => (available_actions.includes(name) ? weight : 0);
  const team = teammates(context.direct_team);
  const does = random.weighed([
    [team.some(({ participation }) => participation === 'required') ? 0.3 : 4, 'green'],
    [0.6, 'blocked'],
    [0.8, 'retry'],
    [0.3, 'names a file'],
    [may('delegate', 8), 'delegate'],
    [may('add_child', team.length < 4 ? 0.7 : 0), 'add'],
    [may('update_child', 0.7), 'update'],
    [may('remove_child', 0.4), 'remove'],
    [may('open_human_request', 2), 'ask'],
    [may('start_command_run', 2), 'run'],
  ]);
  const someone = random.pick(team)?.id ?? 'nobody';
  switch (does) {
    case 'delegate':
      return delegateTo(
        random
          .shuffled(team)
          .slice(0, random.int(1, 8))
          .map(({ id }) => id),
      );
    case 'add': {
      const child = aMember(random, random.int(0, 1));
      return { name: 'add', again: (member, lease, callId) => member.addChild(lease, child, callId) };
    }
    case 'update': {
      const patch = {
        description: `Changed ${random.int(0, 99)}`,
        ...(random.chance(0.3) && { children: [aMember(random, 0)] }),
      };
      return {
        name: 'update',
        again: (member, lease, callId) => member.updateChild(lease, { id: someone, patch }, callId),
      };
    }
    case 'remove':
      return { name: 'remove', again: (member, lease, callId) => member.removeChild(lease, someone, callId) };
    case 'ask':
      return aQuestionOf(context, random);
    case 'run': {
      const request = { command: { kind: 'shell' as const, command: 'true' }, summary: 'Try it' };
      return { name: 'run', again: (member, lease, callId) => member.run(lease, request, callId) };
    }
    case 'names a file':
      return checkpoint({ summary: 'See there', outcome: 'green', files: [{ path: 'not/there.txt' }] });
    default:
      return checkpoint({ summary: `It is ${does}`, outcome: does });
  }
}

function aQuestionOf({ current_member }: Context, random: Random): Words1 {
  const request = aQuestion(random, current_member.effective_capabilities.human_request);
  return { name: 'ask', again: (member, lease, callId) => member.ask(lease, request, callId) };
}

function aMember(random: Random, depth: number): NewMember {
  const children = depth === 0 ? [] : Array.from({ length: random.int(1, 2) }, () => aMember(random, depth - 1));
  return {
    description: `Made ${random.int(0, 999)}`,
    ...(random.chance(0.3) && { capabilities: { command_run: 'allow' as const } }),
    ...(children.length > 0 && { children }),
  };
}

type Question = z.input<typeof openHumanRequest.input>['request'];

function aQuestion(random: Random, kinds: readonly string[]): Question {
  const all = ['input', 'direction', 'approval', 'review'] as const;
  const kind = random.pick(all.filter((each) => kinds.includes(each))) ?? 'input';
  return {
    kind,
    summary: 'A question',
    items: [
      random.chance(0.5)
        ? {
            id: 'way',
            prompt: 'Which way?',
            options: [
              { id: 'left', title: 'Left' },
              { id: 'right', title: 'Right' },
            ],
            allow_skip: true,
          }
        : { id: 'number', prompt: 'How many?', response_schema: { type: 'integer' } },
    ],
    ...(random.chance(0.4) && { timeout: { due_at: '2999-01-01T00:00:00Z', default_behavior: 'Go left' } }),
  };
}

/** What the view did not offer, or what no rule allows: it is refused by name and changes nothing. */
async function breakRule(world: World, session: Session, random: Random): Promise<void> {
  const { lease } = session;
  const member = memberOf(world, session, random);
  // The first call of a lease counts as its start (D12), whatever becomes of the call.
  const looked = await world.call(`${session.name} looks`, () => member.context(lease));
  if (looked.came !== 'ok') return;
  session.begun = true;
  const { available_actions, direct_team } = looked.answer;
  const callId = random.uuid();
  const has = (name: string) => available_actions.includes(name);
  const crimes: (readonly [rule: string, name: string, act: () => Promise<unknown>])[] = [
    [
      'I10',
      'gives work to a stranger',
      () => member.delegate(lease, { assignments: [{ child_id: 'stranger', prompt: 'Do it.' }] }, callId),
    ],
    ['I12', 'removes itself', () => member.removeChild(lease, looked.answer.current_member.id, callId)],
  ];
  if (!has('start_command_run'))
    crimes.push([
      'I20',
      'runs what it may not',
      () => member.run(lease, { command: { kind: 'shell', command: 'true' }, summary: 'Try' }, callId),
    ]);
  if (!has('open_human_request'))
    crimes.push(['I20', 'asks what it may not', () => member.ask(lease, aQuestion(random, []), callId)]);
  const unproven = teammates(direct_team).some(({ participation }) => participation === 'required');
  if (unproven)
    crimes.push([
      'I8',
      'is green without its team',
      () => member.checkpoint(lease, { summary: 'Done', outcome: 'green' }, callId),
    ]);
  const busy = teammates(direct_team).find(({ availability }) => availability === 'busy');
  if (busy) crimes.push(['I12', 'removes who is at work', () => member.removeChild(lease, busy.id, callId)]);
  const [rule, name, act] = random.pick(crimes) ?? ['', '', async () => undefined];
  await world.refused(rule, `${session.name} ${name}`, act);
}

interface Teammate {
  readonly id: string;
  readonly participation: unknown;
  readonly availability: unknown;
}

function teammates(team: readonly unknown[]): readonly Teammate[] {
  return team.map((mate) => {
    if (typeof mate !== 'object' || mate === null || !('id' in mate) || typeof mate.id !== 'string')
      throw new Violation('M1', 'a member sees its direct team', JSON.stringify(mate));
    return {
      id: mate.id,
      participation: 'participation' in mate ? mate.participation : undefined,
      availability: 'availability' in mate ? mate.availability : undefined,
    };
  });
}
