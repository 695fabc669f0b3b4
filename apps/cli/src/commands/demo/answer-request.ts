import { select } from '@clack/prompts';
import {
  FarmError,
  type HumanItem,
  type HumanRequestView,
  humanRequestRespond,
  type ItemResponse,
  taskGet,
} from '#contracts';
import { plainLine } from '../../output/terminal-text.js';
import type { Stage } from './stage.js';

/** Answers what the team asks: each first option, or what the person chooses with `--ask`. */
export async function answerRequest(stage: Stage, taskId: string, ask: boolean): Promise<void> {
  const { client, tell, signal } = stage;
  const view = await client.call(taskGet, { task_id: taskId }, { signal });
  const request = view.human_requests.find(({ status }) => status === 'open');
  const action = request?.actions.find(({ kind }) => kind === 'answer');
  if (request === undefined || action === undefined) return;
  tell(plainLine(request.member.id), `asks: ${plainLine(request.summary)}`);
  const item_responses = await responsesTo(request, ask, signal);
  await client.call(
    humanRequestRespond,
    {
      task_id: taskId,
      request_id: request.request_id,
      action_id: action.id,
      input: { kind: 'answer', item_responses },
    },
    { confirm: true },
  );
  const chosen = item_responses.map((response) => ('option_id' in response ? response.option_id : response.kind));
  tell(ask ? 'you' : 'demo', `${ask ? 'answered' : 'answers in your place (--ask lets you)'}: ${chosen.join(', ')}`);
}

async function responsesTo({ items }: HumanRequestView, ask: boolean, signal: AbortSignal): Promise<ItemResponse[]> {
  const responses: ItemResponse[] = [];
  for (const item of items) {
    const option_id = ask ? await chooseOption(item, signal) : item.options?.[0]?.id;
    if (option_id === undefined) throw new FarmError('internal', 'The team asked something that has no options.');
    responses.push({ kind: 'option', item_id: item.id, option_id });
  }
  return responses;
}

async function chooseOption({ prompt, options = [] }: HumanItem, signal: AbortSignal): Promise<string> {
  const chosen = await select({
    message: plainLine(prompt),
    options: options.map(({ id, title, description }) => ({
      value: id,
      label: plainLine(title),
      ...(description !== undefined && { hint: plainLine(description) }),
    })),
    signal,
    output: process.stderr,
  });
  if (typeof chosen === 'string') return chosen;
  throw new FarmError('invalid_input', 'No answer was given.');
}
