import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { FarmError, taskControl, taskOverview } from '#contracts';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import { commandAt, type Frame, runs } from '../frame.js';
import { readBudget } from './read-budget.js';

const about = {
  pause: 'Stop the sessions of a Task; their work is handed in, and resume goes on from it.',
  resume: 'Let a paused Task go on.',
  cancel: 'End a Task without a Result; what was done is kept and never merged.',
} as const;

/**
 * `task pause`, `task resume` and `task cancel`: the Task is read, and the action that it offers is called by its id. When the Task moves in
 * between, the id is stale and nothing happens (I16).
 */
export function addTaskControl(program: Command, frame: Frame, kind: keyof typeof about): void {
  const command = commandAt(program, ['task', kind])
    .description(about[kind])
    .argument('<task_id>')
    .option('--yes', 'do it also where it would first only say what it would do (exit code 5)');
  if (kind === 'resume')
    command.option('--budget <limit>', 'instead of the budget there was: 5usd, 2Mtokens, 200requests', repeated);
  runs<{ yes?: boolean; budget?: readonly string[] }>(command, frame, async (run, { yes, budget: given }, [taskId]) => {
    const { screen, surroundings } = run;
    const { signal } = surroundings;
    const input = readInput(taskOverview, argumentFields(taskOverview), { task_id: taskId }, undefined);
    const budget = readBudget(given ?? []);
    const client = await run.client();
    const view = await client.call(taskOverview, input, { signal });
    const action = view.actions.find((offered) => offered.kind === kind);
    if (action === undefined)
      throw notOffered(
        kind,
        view.product_status,
        view.actions.map((offered) => offered.kind),
      );
    const answer = await client.call(
      taskControl,
      { task_id: view.task_id, action_id: action.id, ...(budget === undefined ? {} : { budget }) },
      { confirm: yes === true, idempotencyKey: randomUUID(), signal },
    );
    screen.answer(answer);
    screen.show(`${view.task_id} ${answer.status}`);
  });
}

const repeated = (value: string, all: readonly string[] = []) => [...all, value];

function notOffered(kind: string, status: string, offered: readonly string[]): FarmError {
  const may = offered.length === 0 ? 'nothing can be done with it any more' : `it offers ${offered.join(', ')}`;
  return new FarmError('conflict', `A Task that is ${status.replaceAll('_', ' ')} does not offer ${kind}: ${may}.`);
}
