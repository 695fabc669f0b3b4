import { humanRequestRespond, TaskView, taskGet, taskMemberSteer } from '#contracts';
import { statement } from '#store';
import type { Controller } from './controllers.js';
import type { Random } from './random.js';
import { type SeenAction, type SimTask, Violation, type World } from './world.js';

type View = TaskView;

/** What somebody may do, ready to be done. */
export type Act = () => Promise<void>;

const actors = ['p_00000001', 'p_00000002'] as const;
const mostSeen = 40;

/** Looks at a Task, as people are shown it, and remembers what it offered. */
async function look(world: World, task: SimTask, controller: Controller): Promise<View | undefined> {
  const { teams, database } = controller;
  const came = await world.call(`somebody looks at ${task.name}`, async () => {
    const asked = taskGet.input.parse({ task_id: task.id });
    const prepared = await teams.tasks.prepareView(asked);
    return database.reading((tx) => teams.tasks.get(tx, asked, prepared));
  });
  if (came.came !== 'ok') return undefined;
  const shape = TaskView.safeParse(came.answer);
  if (!shape.success)
    throw new Violation('O11', 'a view is what its contract says', JSON.stringify(shape.error.issues.slice(0, 3)));
  if (!world.racing) await requireNoMachinery(world, shape.data);
  task.seen.push(...offeredIn(shape.data));
  task.seen.splice(0, Math.max(0, task.seen.length - mostSeen));
  return shape.data;
}

function offeredIn(view: View): readonly SeenAction[] {
  return [
    ...view.actions.map(({ kind, id }) => ({ what: kind, action: id, of: view.task_id })),
    ...view.team.flatMap(({ member_id, steer_action }) =>
      steer_action ? [{ what: 'steer' as const, action: steer_action.id, of: member_id }] : [],
    ),
    ...(view.command_runs ?? []).flatMap(({ command_id, actions }) =>
      actions.map(({ id }) => ({ what: 'command' as const, action: id, of: command_id })),
    ),
    ...view.human_requests.flatMap(({ request_id, actions }) =>
      actions
        .filter(({ kind }) => kind === 'answer')
        .map(({ id }) => ({ what: 'answer' as const, action: id, of: request_id })),
    ),
  ];
}

/** I24: what people are shown names nothing of the machinery. */
async function requireNoMachinery(world: World, view: View): Promise<void> {
  world.tally.count('asked of calls', 'I24');
  const shown = JSON.stringify(view);
  const ids = await world.database.all(machinery, { task: view.task_id });
  const named = ids.find(({ id }) => shown.includes(id));
  if (named)
    throw new Violation(
      'I24',
      'a view names nothing of the machinery',
      `${named.what} in ${shown.slice(Math.max(0, shown.indexOf(named.id) - 80), shown.indexOf(named.id) + 60)}`,
    );
}

const machinery = statement<{ what: string; id: string }>(
  'sim.machinery',
  `select 'a Dispatch' as what, id::text from dispatch where task = $task
   union all select 'an Assignment', id::text from assignment where task = $task
   union all select 'a Wave', id::text from wave where task = $task
   union all select 'a lease', lease_id::text from lease where job in (select id from job where scope = $task)`,
);

/** A person's act on one Task. Undefined: there is nothing to do. */
export async function somebodyActs(world: World, task: SimTask, random: Random): Promise<Act | undefined> {
  const controller = world.controller(random);
  const view = await look(world, task, controller);
  if (!view) return undefined;
  if (random.chance(0.15)) return actOnOldView(world, task, view, random);
  const offered = offeredIn(view);
  const weights: Readonly<Record<SeenAction['what'], number>> = {
    pause: 2,
    resume: 6,
    cancel: 0.15,
    answer: 4,
    steer: 2,
    command: 1,
  };
  if (offered.length === 0) return undefined;
  // A Task that is still prepared offers nothing else: it shall live now and then.
  if (offered.every(({ what }) => what === 'cancel') && random.chance(0.95)) return undefined;
  const chosen = random.weighed(offered.map((action) => [weights[action.what], action] as const));
  const does = actionOf(task, chosen, view, random);
  const name = `${chosen.what} ${task.name}`;
  return async () => {
    const came = await world.whole(name, () => does(controller));
    if (came.came === 'ok') world.tally.count('people', chosen.what);
  };
}

/** Another view than today's: other facts, no action (I16). */
function actOnOldView(world: World, task: SimTask, view: View, random: Random): Act | undefined {
  const now = new Set(offeredIn(view).map(({ action }) => action));
  // A steer that was said is the same act again (I23); a question that is answered is not offered.
  const old = random.pick(task.seen.filter(({ action, what }) => !now.has(action) && what !== 'steer'));
  if (!old) return undefined;
  const fork = random.fork();
  return async () => {
    const does = actionOf(task, old, view, fork);
    await world.refused('I16', `${old.what} ${task.name} by an old view`, () => does(world.controller(fork)), [
      'conflict',
      'not_found',
    ]);
  };
}

/** Two at once by the same view: the first is heard, the other is told to look again (Q12). */
export async function twoAct(world: World, task: SimTask, random: Random): Promise<Act | undefined> {
  const view = await look(world, task, world.controller(random));
  if (!view) return undefined;
  const question = view.human_requests.find(({ actions }) => actions.length > 0);
  const pair: readonly SeenAction[] = question
    ? offeredIn(view)
        .filter(({ of }) => of === question.request_id)
        .flatMap((answer) => [answer, answer])
    : offeredIn(view)
        .filter(({ what }) => what === 'pause' || what === 'resume')
        .flatMap((each) => [each, each]);
  const [first, second] = pair;
  if (!first || !second) return undefined;
  const acts = [first, second].map((each) => actionOf(task, each, view, random.fork()));
  const [one, other] = acts;
  if (!one || !other) return undefined;
  return async () => {
    const [a, b] = world.controllers;
    const name = `${first.what} ${task.name} twice at once`;
    const raced = world.racing;
    world.racing = true;
    const came = await Promise.all([world.call(name, () => one(a)), world.call(name, () => other(b))]).finally(() => {
      world.racing = raced;
    });
    world.tally.count('asked of calls', 'Q12');
    const heard = came.filter(({ came }) => came === 'ok').length;
    const died = came.some(({ came }) => came === 'died');
    // Of a pair that races a third, neither is heard where that one came first.
    const isOvertaken = raced && heard === 0;
    if (
      heard !== 1 &&
      !died &&
      !isOvertaken &&
      !came.every((each) => each.came === 'refused' && each.code === 'invalid_input')
    )
      throw new Violation('Q12', 'of two acts by one view one is heard', `${name}: ${JSON.stringify(came)}`);
  };
}

type Does = (controller: Controller) => Promise<unknown>;

function actionOf(task: SimTask, { what, action, of }: SeenAction, view: View, random: Random): Does {
  const actor = { principal: random.oneOf(...actors) };
  if (what === 'steer') {
    const input = taskMemberSteer.input.parse({
      task_id: task.id,
      member_id: of,
      action_id: action,
      message: `Mind ${random.int(0, 99)}`,
    });
    return ({ database, teams }) => database.transaction((tx) => teams.tasks.steer(tx, actor, input));
  }
  if (what === 'command') {
    const asked = { task_id: task.id, command_id: of, action_id: action };
    return ({ database, teams }) => database.transaction((tx) => teams.commands.cancel(tx, actor, asked));
  }
  if (what === 'answer') {
    const question = view.human_requests.find(({ request_id }) => request_id === of);
    const cancel = question?.actions.find(({ kind }) => kind === 'cancel');
    const input =
      cancel && random.chance(0.2)
        ? { action_id: cancel.id, input: { kind: 'cancel' as const } }
        : { action_id: action, input: { kind: 'answer' as const, item_responses: answersTo(question, random) } };
    const asked = humanRequestRespond.input.parse({ task_id: task.id, request_id: of, ...input });
    return ({ database, teams }) => database.transaction((tx) => teams.requests.respond(tx, actor, asked));
  }
  return ({ database, teams }) =>
    database.transaction((tx) => teams.tasks.control(tx, actor, { task_id: task.id, action_id: action }));
}

/** Now and then one that does not fit what was asked. */
function answersTo(question: View['human_requests'][number] | undefined, random: Random) {
  const items = question?.items ?? [];
  const wrong = random.chance(0.15);
  const answers = items.map((item) => {
    if (item.options === undefined)
      return { kind: 'value' as const, item_id: item.id, value: wrong ? 'many' : random.int(0, 9) };
    const option_id = wrong ? 'neither' : (random.pick(item.options)?.id ?? 'left');
    return { kind: 'option' as const, item_id: item.id, option_id };
  });
  return answers.length > 0 ? answers : [{ kind: 'skipped' as const, item_id: 'nothing' }];
}

/** Somebody does what is asked of people, so that the Task does not wait for them; now and then in a pause (I14). */
export async function helpTask(world: World, task: SimTask, random: Random): Promise<void> {
  const controller = world.controller(random);
  const { teams, database } = controller;
  const actor = { principal: actors[0] };
  const control = (action: string) =>
    database.transaction((tx) => teams.tasks.control(tx, actor, { task_id: task.id, action_id: action }));
  let view = await look(world, task, controller);
  const pause = view?.actions.find(({ kind }) => kind === 'pause');
  if (pause && view?.human_requests.some(({ actions }) => actions.length > 0) && random.chance(0.5)) {
    await world.call(`pause ${task.name}`, () => control(pause.id));
    view = await look(world, task, controller);
  }
  for (const { request_id, actions, items } of view?.human_requests ?? []) {
    const answer = actions.find(({ kind }) => kind === 'answer');
    if (!answer) continue;
    const item_responses = items.map((item) =>
      item.options === undefined
        ? { kind: 'value' as const, item_id: item.id, value: 1 }
        : { kind: 'option' as const, item_id: item.id, option_id: item.options[0]?.id ?? '' },
    );
    const input = { kind: 'answer' as const, item_responses };
    const asked = humanRequestRespond.input.parse({ task_id: task.id, request_id, action_id: answer.id, input });
    await world.call(`an answer for ${task.name}`, () =>
      database.transaction((tx) => teams.requests.respond(tx, actor, asked)),
    );
  }
  const resume = view?.actions.find(({ kind }) => kind === 'resume');
  if (resume) await world.call(`resume ${task.name}`, () => control(resume.id));
}
