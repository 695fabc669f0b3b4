import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { commandRunOutputRead, FarmError, type TaskView, taskOverview } from '#contracts';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import { plainText } from '../../output/terminal-text.js';
import { commandAt, type Frame, runs } from '../frame.js';

/** Between two looks at a command that says nothing now. */
const lookMs = 300;

/** `task output`: all that a command of a Task says, also while it runs. */
export function addTaskOutput(program: Command, frame: Frame): void {
  const command = commandAt(program, ['task', 'output'])
    .description('What a command of a Task says, followed to its end.')
    .argument('<task_id>')
    .argument('[command_id]', 'else the verification, else the command that runs, else the last one')
    .option('--no-follow', 'only what there is now');
  runs<{ follow?: boolean }>(command, frame, async (run, { follow }, [taskId, commandId]) => {
    const { screen, surroundings } = run;
    const { signal } = surroundings;
    const client = await run.client();
    const asked = readInput(taskOverview, argumentFields(taskOverview), { task_id: taskId }, undefined);
    const command_id = commandId ?? chosenOf(await client.call(taskOverview, asked, { signal }));
    let cursor: string | undefined;
    let isSilent = true;
    for (;;) {
      const page = await client.call(
        commandRunOutputRead,
        { task_id: taskId, command_id, ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      const isOver = page.next_cursor === null;
      if (page.text !== '' || isOver) screen.answer(page);
      if (!screen.json) surroundings.stdout.write(plainText(page.text));
      // one that has not begun has no place to go on from
      cursor = page.next_cursor ?? undefined;
      isSilent &&= page.text === '';
      if (isOver && endStates.has(page.state)) {
        if (isSilent) screen.say('It said nothing.');
        return;
      }
      if (page.is_bounded) continue;
      if (follow === false) return;
      await pause(lookMs, undefined, { signal });
    }
  });
}

const endStates: ReadonlySet<string> = new Set(['succeeded', 'failed', 'timed_out', 'cancelled', 'abandoned']);

function chosenOf({ task_id, result, command_runs }: TaskView): string {
  const chosen = result?.verification?.command_id ?? command_runs[0]?.command_id;
  if (chosen !== undefined) return chosen;
  throw new FarmError('not_found', 'No command of this Task has run.', {
    hint: `longshore task get ${task_id} shows how it stands.`,
  });
}
