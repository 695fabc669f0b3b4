import { Readable, Writable } from 'node:stream';
import { text } from '@clack/prompts';
import { FarmError, type HumanItem, type ItemResponse } from '#contracts';
import type { CommandRun } from '../../frame.js';
import { drawItem } from './draw-request.js';
import { typedResponse } from './typed-response.js';

/** Asks the person at the terminal, one item after the other. FarmError invalid_input when the person has had enough. */
export async function askItems(run: CommandRun, items: readonly HumanItem[]): Promise<readonly ItemResponse[]> {
  const responses: ItemResponse[] = [];
  for (const item of items) responses.push(await askItem(run, item));
  return responses;
}

async function askItem(run: CommandRun, item: HumanItem): Promise<ItemResponse> {
  run.screen.say(`\n${drawItem(item, run.screen.tint)}`);
  const ways = [
    item.options === undefined ? 'Your answer' : `1 to ${item.options.length}`,
    ...(item.allow_other ? ['o for your own words'] : []),
    ...(item.allow_skip ? ['s to skip'] : []),
  ];
  const typed = await typedAt(run, ways.join(', '), (word) => {
    if (isOther(item, word) || isSkip(item, word)) return undefined;
    const response = typedResponse(item, word);
    return 'broken' in response ? response.broken : undefined;
  });
  if (isSkip(item, typed)) return { kind: 'skipped', item_id: item.id };
  if (isOther(item, typed)) {
    const words = await typedAt(run, 'In your own words', (said) => (said.trim() === '' ? 'say something' : undefined));
    return { kind: 'other', item_id: item.id, text: words };
  }
  const response = typedResponse(item, typed);
  if ('broken' in response) throw noAnswer();
  return response;
}

const isOther = (item: HumanItem, typed: string) => item.allow_other && typed.trim() === 'o';
const isSkip = (item: HumanItem, typed: string) => item.allow_skip && typed.trim() === 's';

/** What the person typed, once nothing is wrong with it. */
export async function typedAt(
  { surroundings: { stdin, stderr, signal } }: CommandRun,
  message: string,
  wrong: (typed: string) => string | undefined,
): Promise<string> {
  const typed = await text({
    message,
    signal,
    validate: (value) => wrong(value ?? ''),
    ...(stdin instanceof Readable && { input: stdin }),
    ...(stderr instanceof Writable && { output: stderr }),
  });
  if (typeof typed === 'string') return typed;
  throw noAnswer();
}

const noAnswer = () => new FarmError('invalid_input', 'No answer was given; the question stays open.');
