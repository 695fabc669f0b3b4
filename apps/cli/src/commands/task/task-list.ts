import type { Command } from 'commander';
import { taskSearch } from '#contracts';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import { drawAnswer } from '../../output/draw-answer.js';
import { commandAt, type Frame, runs } from '../frame.js';

/** `task list`: what `task_search` answers. */
export function addTaskList(program: Command, frame: Frame): void {
  const command = commandAt(program, ['task', 'list'])
    .alias('search')
    .description(taskSearch.summary)
    .option('--query <text>', 'words of title or prompt')
    .option('--status <status>', 'working, waiting_for_you, completed, …')
    .option('--limit <number>', 'at most so many')
    .option('--cursor <text>', 'go on where the last page ended');
  runs<Readonly<Record<string, unknown>>>(command, frame, async (run, options) => {
    const fields = argumentFields(taskSearch);
    const given = Object.fromEntries(fields.map(({ name }) => [name, options[name]]));
    const input = readInput(taskSearch, fields, given, undefined);
    const answer = await (await run.client()).call(taskSearch, input, { signal: run.surroundings.signal });
    run.screen.answer(answer);
    const columns = [
      'task_id',
      'title',
      'product_status',
      'verified',
      'attention',
      'workflow_id',
      'started_at',
      'ended_at',
    ];
    run.screen.show(drawAnswer(answer, run.screen.paint, columns));
  });
}
