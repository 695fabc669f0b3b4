import { FarmError, type HumanItem, type ItemResponse } from '#contracts';
import { compileSchema } from './response-schema.js';

/** Every item answered once and no more, in a way that it allows. @throws invalid_input */
export function checkResponses(items: readonly HumanItem[], responses: readonly ItemResponse[]): void {
  const fields = [
    ...items.flatMap((item) => (responses.some(({ item_id }) => item_id === item.id) ? [] : [missing(item)])),
    ...responses.flatMap((response, n) => {
      const rule = faultOf(items, responses, response, n);
      return rule === undefined ? [] : [{ path: `/input/item_responses/${n}`, rule }];
    }),
  ];
  if (fields.length === 0) return;
  throw new FarmError('invalid_input', 'The answer does not fit what was asked.', {
    fields,
    hint: 'Answer each item once: by `value` where it has a schema, else by the id of one of its options.',
  });
}

const missing = ({ id }: HumanItem) => ({ path: '/input/item_responses', rule: `answer:${id}` });

function faultOf(
  items: readonly HumanItem[],
  responses: readonly ItemResponse[],
  response: ItemResponse,
  n: number,
): string | undefined {
  const item = items.find(({ id }) => id === response.item_id);
  if (!item) return 'known_item';
  if (responses.findIndex(({ item_id }) => item_id === item.id) !== n) return 'once';
  switch (response.kind) {
    case 'skipped':
      return item.allow_skip ? undefined : 'skip_not_allowed';
    case 'other':
      return item.allow_other ? undefined : 'other_not_allowed';
    case 'option':
      return item.options?.some(({ id }) => id === response.option_id) ? undefined : 'known_option';
    case 'value':
      if (item.response_schema === undefined) return 'option';
      return compileSchema(item.response_schema, '/response_schema')(response.value) ? undefined : 'response_schema';
  }
}
