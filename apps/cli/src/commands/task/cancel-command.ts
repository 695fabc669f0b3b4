import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { commandRunCancel, commandRunGet, FarmError } from '#contracts';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import { commandAt, type Frame, runs } from '../frame.js';

/** `command-run cancel`: the command is read, and the action that it offers is called by its id (I16). */
export function addCancelCommand(program: Command, frame: Frame): void {
  const command = commandAt(program, ['command-run', 'cancel'])
    .description('End a command; who had it run goes on with that result.')
    .argument('<task_id>')
    .argument('<command_id>')
    .option('--yes', 'do it also where it would first only say what it would do (exit code 5)');
  runs<{ yes?: boolean }>(command, frame, async (run, { yes }, [task_id, command_id]) => {
    const { screen, surroundings } = run;
    const { signal } = surroundings;
    const asked = readInput(commandRunGet, argumentFields(commandRunGet), { task_id, command_id }, undefined);
    const client = await run.client();
    const view = await client.call(commandRunGet, asked, { signal });
    const [action] = view.actions;
    if (action === undefined) throw new FarmError('conflict', `There is nothing to cancel: ${view.status_message}`);
    const answer = await client.call(
      commandRunCancel,
      { task_id, command_id: view.command_id, action_id: action.id },
      { confirm: yes === true, idempotencyKey: randomUUID(), signal },
    );
    screen.answer(answer);
    screen.show(`${answer.command_id} ${answer.status}`);
  });
}
