import { FarmError, type HumanRequestView, humanRequestRespond, type ItemResponse, taskOverview } from '#contracts';
import { plainLine } from '../../output/terminal-text.js';
import type { CommandRun } from '../frame.js';
import { askItems } from '../task/answer/ask-items.js';
import type { Stage } from './stage.js';

/** Answers what the team asks: each first option, or what the person at the terminal says. */
export async function answerRequest(stage: Stage, taskId: string, asks: CommandRun | undefined): Promise<void> {
  const { client, tell, signal } = stage;
  const view = await client.call(taskOverview, { task_id: taskId }, { signal });
  const request = view.human_requests.find(({ status }) => status === 'open');
  const action = request?.actions.find(({ kind }) => kind === 'answer');
  if (request === undefined || action === undefined) return;
  tell(plainLine(request.member.id), `asks: ${plainLine(request.summary)}`);
  const item_responses = asks === undefined ? firstOptions(request) : [...(await askItems(asks, request.items))];
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
  if (asks === undefined) tell('demo', `answers in your place (--ask lets you): ${chosen.join(', ')}`);
  else tell('you', `answered: ${chosen.join(', ')}`);
}

/** The first option of each: what the demonstration would choose. */
function firstOptions({ items }: HumanRequestView): ItemResponse[] {
  return items.map(({ id, options }) => {
    const option_id = options?.[0]?.id;
    if (option_id === undefined) throw new FarmError('internal', 'The team asked something that has no options.');
    return { kind: 'option', item_id: id, option_id };
  });
}
