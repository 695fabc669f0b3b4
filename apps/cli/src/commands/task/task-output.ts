import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { commandRunOutputRead, FarmError, type TaskView, taskOverview } from '#contracts';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import type { FarmClient } from '../../client/farm-client.js';
import type { Screen } from '../../output/screen.js';
import { commandAt, type Frame, runs } from '../frame.js';
import { followOutput, lookMs } from './follow-output.js';

/** `task output`: all that a command of a Task says, also while it runs. */
export function addTaskOutput(program: Command, frame: Frame): void {
  const command = commandAt(program, ['task', 'output'])
    .description('What a command of a Task says, followed to its end.')
    .argument('<task_id>')
    .argument('[command_id]', 'else the verification, else the command that runs, else the last one')
    .option('--no-follow', 'only what there is now');
  runs<{ follow?: boolean }>(command, frame, async (run, { follow = true }, [taskId, commandId]) => {
    const { screen, surroundings } = run;
    const { signal, stdout } = surroundings;
    const client = await run.client();
    const asked = readInput(taskOverview, argumentFields(taskOverview), { task_id: taskId }, undefined);
    const chosen = commandId ?? chosenOf(await client.call(taskOverview, asked, { signal }));
    const following = { taskId: String(taskId), commandId: chosen, follow, stdout, signal };
    const hasSaid = screen.json ? await answerPages(client, screen, following) : await followOutput(client, following);
    if (!hasSaid) screen.say('It said nothing.');
  });
}

interface Pages {
  readonly taskId: string;
  readonly commandId: string;
  readonly follow: boolean;
  readonly signal: AbortSignal;
}

/** Page by page, as programs are answered. */
async function answerPages(
  client: FarmClient,
  screen: Screen,
  { taskId, commandId, follow, signal }: Pages,
): Promise<boolean> {
  let hasSaid = false;
  for (let cursor: string | undefined; ; ) {
    const page = await client.call(
      commandRunOutputRead,
      { task_id: taskId, command_id: commandId, ...(cursor !== undefined && { cursor }) },
      { signal },
    );
    const isOver = page.next_cursor === null;
    if (page.text !== '' || isOver) screen.answer(page);
    // one that has not begun has no place to go on from
    cursor = page.next_cursor ?? undefined;
    hasSaid ||= page.text !== '';
    if (isOver && endStates.has(page.state)) return hasSaid;
    if (page.is_bounded) continue;
    if (!follow) return true;
    await pause(lookMs, undefined, { signal });
  }
}

const endStates: ReadonlySet<string> = new Set(['succeeded', 'failed', 'timed_out', 'cancelled', 'abandoned']);

function chosenOf({ task_id, result, command_runs }: TaskView): string {
  const chosen = result?.verification?.command_id ?? command_runs[0]?.command_id;
  if (chosen !== undefined) return chosen;
  throw new FarmError('not_found', 'No command of this Task has run.', {
    hint: `longshore task get ${task_id} shows how it stands.`,
  });
}
