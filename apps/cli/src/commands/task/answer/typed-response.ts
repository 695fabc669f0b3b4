import { z } from 'zod';
import type { HumanItem, ItemResponse } from '#contracts';

/** What was typed for an item: an option by its number or id, or a value. The rule that it breaks, where it is none of them. */
export function typedResponse(item: HumanItem, typed: string): ItemResponse | { readonly broken: string } {
  const word = typed.trim();
  if (item.options !== undefined) {
    const option = item.options.find(({ id }, n) => word === id || word === String(n + 1));
    if (option) return { kind: 'option', item_id: item.id, option_id: option.id };
    return { broken: `must be one of ${item.options.map(({ id }) => id).join(', ')}, or its number` };
  }
  const value = typedValue(item.response_schema, typed);
  if (value === undefined) return { broken: 'must be JSON' };
  return { kind: 'value', item_id: item.id, value };
}

const Text = z.looseObject({ type: z.literal('string') });
const Json = z.json();

/** A text needs no quotes; everything else is JSON. The farm says whether it fits the schema. */
function typedValue(schema: unknown, typed: string): z.output<typeof Json> | undefined {
  if (Text.safeParse(schema).success) return typed;
  try {
    return Json.parse(JSON.parse(typed));
  } catch {
    return undefined;
  }
}
