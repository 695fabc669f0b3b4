import type { Command } from 'commander';
import { commandRunOutputRead, FarmError, taskGet } from '#contracts';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import { plainText } from '../../output/terminal-text.js';
import { commandAt, type Frame, runs } from '../frame.js';

/** `task output`: all that the verify command of a Task said, or another command by its id. */
export function addTaskOutput(program: Command, frame: Frame): void {
  const command = commandAt(program, ['task', 'output'])
    .description('What the verify command of a Task said, or another command of it.')
    .argument('<task_id>')
    .argument('[command_id]', 'else the verification');
  runs(command, frame, async (run, _options, [taskId, commandId]) => {
    const { screen, surroundings } = run;
    const { signal } = surroundings;
    const client = await run.client();
    const asked = readInput(taskGet, argumentFields(taskGet), { task_id: taskId }, undefined);
    const command_id =
      commandId ?? (await client.call(taskGet, asked, { signal })).result?.verification?.command_id ?? undefined;
    if (command_id === undefined)
      throw new FarmError('not_found', 'This Task has no verification that ran.', {
        hint: `longshore task get ${taskId} shows what it came to.`,
      });
    let cursor: string | undefined;
    do {
      const page = await client.call(
        commandRunOutputRead,
        { task_id: taskId, command_id, ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      screen.answer(page);
      const text = plainText(page.text);
      if (!screen.json) surroundings.stdout.write(text);
      cursor = page.text === '' ? undefined : (page.next_cursor ?? undefined);
    } while (cursor !== undefined);
  });
}
