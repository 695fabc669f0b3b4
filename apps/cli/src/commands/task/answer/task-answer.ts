import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { z } from 'zod';
import {
  FarmError,
  type HumanRequestView,
  humanRequestRespond,
  type InputOf,
  type TaskView,
  taskOverview,
} from '#contracts';
import { argumentFields } from '../../../arguments/fields.js';
import { readInput } from '../../../arguments/read-input.js';
import type { FarmClient } from '../../../client/farm-client.js';
import { type CommandRun, commandAt, type Frame, runs } from '../../frame.js';
import { readDocument } from '../../read-document.js';
import { fetchRequest, wholeTask } from '../whole-task.js';
import { askItems, typedAt } from './ask-items.js';
import { drawRequest } from './draw-request.js';
import { type AnswerFlags, flagResponses } from './flag-responses.js';

interface Flags extends AnswerFlags {
  readonly input?: string;
  readonly cancelRequest?: boolean;
}

/** `task answer`: what a member asks, answered by flags, by a JSON document or at the terminal. */
export function addTaskAnswer(program: Command, frame: Frame): void {
  const command = commandAt(program, ['task', 'answer'])
    .description('Answer what a member of a Task asks.')
    .argument('<task_id>')
    .argument('[request_id]', 'where several are open')
    .option('--answer <item=option>', 'an option by id or number, or a value; repeatable', repeated)
    .option('--other <item=text>', 'your own words, where the item allows them; repeatable', repeated)
    .option('--skip <item>', 'where the item allows it; repeatable', repeated)
    .option('--input <file>', 'the list of item responses as JSON from a file, or `-` for stdin')
    .option('--cancel-request', 'say that there will be no answer: the member goes on without one');
  runs<Flags>(command, frame, async (run, flags, [taskId, requestId]) => {
    const { screen, surroundings } = run;
    const { signal } = surroundings;
    const asked = readInput(taskOverview, argumentFields(taskOverview), { task_id: taskId }, undefined);
    const document = await readDocument(flags.input, surroundings);
    const client = await run.client();
    const view = await client.call(taskOverview, asked, { signal });
    const request = await requestOf(run, await wholeTask(client, view, signal), requestId, client);
    const input = await answerOf(run, request, flags, document);
    const action = request.actions.find(({ kind }) => kind === input.kind);
    if (action === undefined) throw notOpen(request);
    const answer = await client.call(
      humanRequestRespond,
      { task_id: view.task_id, request_id: request.request_id, action_id: action.id, input },
      { confirm: true, idempotencyKey: randomUUID(), signal },
    );
    screen.answer(answer);
    const later = answer.continuation_pending ? '; its member goes on when the Task is resumed' : '';
    screen.show(`${answer.request_id} ${answer.status}${later}`);
  });
}

const repeated = (value: string, all: readonly string[] = []) => [...all, value];

async function requestOf(
  run: CommandRun,
  view: TaskView,
  named: string | undefined,
  client: FarmClient,
): Promise<HumanRequestView> {
  const open = view.human_requests.filter(({ status }) => status === 'open');
  if (named !== undefined) {
    const found =
      view.human_requests.find(({ request_id }) => request_id === named) ??
      (view.totals.human_requests > view.human_requests.length
        ? await fetchRequest(client, view.task_id, named, run.surroundings.signal)
        : undefined);
    if (!found) throw new FarmError('not_found', 'This Task has no such request.', { hint: seeTask(view) });
    if (found.status !== 'open') throw notOpen(found);
    return found;
  }
  const [only, ...others] = open;
  if (!only) throw new FarmError('not_found', 'No member of this Task asks anything.', { hint: seeTask(view) });
  if (others.length === 0) return only;
  const { screen } = run;
  for (const [n, request] of open.entries()) screen.say(`${n + 1}.  ${drawRequest(request, screen.tint)}\n`);
  if (!isThere(run))
    throw new FarmError('invalid_input', `${open.length} requests are open.`, {
      hint: `Name one: longshore task answer ${view.task_id} ${only.request_id}`,
    });
  const chosen = (typed: string) => open[Number(typed) - 1];
  const typed = await typedAt(run, `Which one, 1 to ${open.length}`, (word) =>
    chosen(word) ? undefined : `must be 1 to ${open.length}`,
  );
  return chosen(typed) ?? only;
}

type Answer = InputOf<typeof humanRequestRespond>['input'];
const Document = z.union([z.looseObject({ item_responses: z.array(z.unknown()) }), z.array(z.unknown())]);

async function answerOf(run: CommandRun, request: HumanRequestView, flags: Flags, document: unknown): Promise<Answer> {
  const byFlags = flags.answer !== undefined || flags.other !== undefined || flags.skip !== undefined;
  const ways = [byFlags, document !== undefined, flags.cancelRequest === true].filter(Boolean).length;
  if (ways > 1)
    throw new FarmError('invalid_input', 'An answer by flags, --input and --cancel-request exclude each other.');
  if (flags.cancelRequest === true) return { kind: 'cancel' };
  if (byFlags) return { kind: 'answer', item_responses: [...flagResponses(request.items, flags)] };
  if (document !== undefined) return readAnswer(document);
  run.screen.say(drawRequest({ ...request, items: isThere(run) ? [] : request.items }, run.screen.tint));
  if (isThere(run)) return { kind: 'answer', item_responses: [...(await askItems(run, request.items))] };
  throw new FarmError('invalid_input', 'Nobody is there to be asked.', {
    hint: `Answer by flags, one for each item: ${request.items.map(({ id, options }) => `--answer ${id}=${options?.[0]?.id ?? 'VALUE'}`).join(' ')}`,
  });
}

function readAnswer(document: unknown): Answer {
  const shape = Document.safeParse(document);
  const item_responses = shape.data === undefined || Array.isArray(shape.data) ? shape.data : shape.data.item_responses;
  const read = humanRequestRespond.input.shape.input.safeParse({ kind: 'answer', item_responses });
  if (read.success) return read.data;
  throw new FarmError('invalid_input', 'What --input names is no answer.', {
    fields: read.error.issues.map(({ path, code }) => ({ path: ['--input', ...path].join('/'), rule: code })),
    hint: 'A list such as [{"kind":"option","item_id":"way","option_id":"left"}]; kinds are option, value, other, skipped.',
  });
}

const isThere = ({ surroundings: { stdin, env } }: CommandRun) => stdin.isTTY === true && env.CI === undefined;
const seeTask = ({ task_id }: TaskView) => `longshore task get ${task_id} shows what its members ask.`;

function notOpen({ status }: HumanRequestView): FarmError {
  return new FarmError('conflict', `This request is ${status}; nobody waits for an answer any more.`);
}
