import { FarmError, type FieldError, type HumanItem, type ItemResponse } from '#contracts';
import { typedResponse } from './typed-response.js';

export interface AnswerFlags {
  /** `item=option` or `item=value`. */
  readonly answer?: readonly string[];
  /** `item=text`. */
  readonly other?: readonly string[];
  /** Ids of items. */
  readonly skip?: readonly string[];
}

/** The answer as flags say it; the farm checks that each item has one that it allows. FarmError invalid_input. */
export function flagResponses(items: readonly HumanItem[], flags: AnswerFlags): readonly ItemResponse[] {
  const broken: FieldError[] = [];
  const itemOf = (flag: string, id: string) => {
    const item = items.find((each) => each.id === id);
    if (!item) broken.push({ path: flag, rule: `must name one of ${items.map((each) => each.id).join(', ')}` });
    return item;
  };
  const responses: ItemResponse[] = [];
  for (const given of flags.answer ?? []) {
    const [id, word] = splitAt(given);
    const item = itemOf('--answer', id);
    const response = item && typedResponse(item, word);
    if (response && 'broken' in response) broken.push({ path: `--answer ${id}`, rule: response.broken });
    else if (response) responses.push(response);
  }
  for (const given of flags.other ?? []) {
    const [id, text] = splitAt(given);
    if (itemOf('--other', id)) responses.push({ kind: 'other', item_id: id, text });
  }
  for (const id of flags.skip ?? []) if (itemOf('--skip', id)) responses.push({ kind: 'skipped', item_id: id });
  if (broken.length === 0) return responses;
  throw new FarmError('invalid_input', 'The answer does not fit what was asked.', {
    fields: broken,
    hint: '--answer ITEM=OPTION or ITEM=VALUE, --other ITEM=TEXT, --skip ITEM: one for each item.',
  });
}

function splitAt(given: string): readonly [string, string] {
  const at = given.indexOf('=');
  return at < 0 ? [given, ''] : [given.slice(0, at), given.slice(at + 1)];
}
