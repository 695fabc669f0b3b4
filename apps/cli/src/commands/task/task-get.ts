import type { Command } from 'commander';
import type { z } from 'zod';
import { FarmError, type InputOf, taskGet } from '#contracts';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import { drawAnswer } from '../../output/draw-answer.js';
import type { Paint } from '../../output/screen.js';
import { commandAt, type Frame, runs } from '../frame.js';
import { drawRequest } from './answer/draw-request.js';
import { drawResult, drawTask } from './draw-task.js';
import { wholeTask } from './whole-task.js';

interface GetFlags {
  readonly member?: string;
  readonly result?: boolean;
  readonly activity?: string;
  readonly request?: string;
  readonly requestFiles?: string;
}

type Selection = NonNullable<InputOf<typeof taskGet>['selection']>;

/** `task get`: the overview, or the one part that a flag names (O11). */
export function addTaskGet(program: Command, frame: Frame): void {
  const command = commandAt(program, ['task', 'get'])
    .description(taskGet.summary)
    .argument('<task_id>')
    .option('--member <id>', 'one member: what it was given, what it said last')
    .option('--result', 'the Result, whole')
    .option('--activity <id>', 'one of its activities')
    .option('--request <id>', 'what a member asks, whole')
    .option('--request-files <id>', 'the files that a request names');
  runs<GetFlags>(command, frame, async ({ screen, surroundings, client: open }, flags, [task_id]) => {
    const { signal } = surroundings;
    const selection = selectionOf(flags);
    const input = readInput(taskGet, argumentFields(taskGet), { task_id }, selection && { selection }, flagsOf(flags));
    const client = await open();
    const answer = await client.call(taskGet, input, { signal });
    screen.answer(answer);
    const shown = answer.selection === 'overview' ? await wholeTask(client, answer, signal) : answer;
    screen.show(drawSelection(shown, screen.paint));
  });
}

function selectionOf({ member, result, activity, request, requestFiles }: GetFlags): Selection | undefined {
  const named: Selection[] = [
    ...(member === undefined ? [] : [{ kind: 'member', member_id: member } as const]),
    ...(result === true ? [{ kind: 'result' } as const] : []),
    ...(activity === undefined ? [] : [{ kind: 'activity', activity_id: activity } as const]),
    ...(request === undefined ? [] : [{ kind: 'human_request', request_id: request } as const]),
    ...(requestFiles === undefined ? [] : [{ kind: 'human_request_files', request_id: requestFiles } as const]),
  ];
  if (named.length > 1) throw new FarmError('invalid_input', 'One part at a time: these flags exclude each other.');
  return named[0];
}

/** What a mistake in the selection is called. */
function flagsOf({ member, activity, request }: GetFlags): Readonly<Record<string, string>> {
  if (member !== undefined) return { selection: '--member' };
  if (activity !== undefined) return { selection: '--activity' };
  return { selection: request === undefined ? '--request-files' : '--request' };
}

function drawSelection(answer: z.output<typeof taskGet.output>, paint: Paint): string {
  switch (answer.selection) {
    case 'overview':
      return drawTask(answer, paint);
    case 'result':
      return drawResult({ ...answer, status: 'completed' }, paint);
    case 'human_request':
      return drawRequest(answer.human_request, paint);
    case 'activity':
      return drawAnswer(answer.activity, paint);
    default: {
      const { selection: _, ...rest } = answer;
      return drawAnswer(rest, paint);
    }
  }
}
