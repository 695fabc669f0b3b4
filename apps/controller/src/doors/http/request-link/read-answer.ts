import type { HumanItem, ItemResponse } from '#contracts';

/** What a form says, by the names that `link-page.ts` gives its fields. */
export type Fields = Readonly<Record<string, string>>;

export const fieldNames = {
  choice: (item: string) => `choice.${item}`,
  other: (item: string) => `other.${item}`,
  value: (item: string) => `value.${item}`,
  skip: (item: string) => `skip.${item}`,
} as const;

export const optionChoice = (option: string): string => `option.${option}`;

/** The typed answers; an item of which nothing was said has none, and the rule of answers says so. */
export function readAnswer(items: readonly HumanItem[], fields: Fields): readonly ItemResponse[] {
  return items.flatMap((item) => responseOf(item, fields) ?? []);
}

function responseOf(item: HumanItem, fields: Fields): ItemResponse | undefined {
  const item_id = item.id;
  if (fields[fieldNames.skip(item_id)] !== undefined) return { kind: 'skipped', item_id };
  if (item.options === undefined) {
    const text = fields[fieldNames.value(item_id)];
    return text === undefined ? undefined : { kind: 'value', item_id, value: typedValue(item.response_schema, text) };
  }
  const choice = fields[fieldNames.choice(item_id)];
  if (choice === 'skip') return { kind: 'skipped', item_id };
  if (choice === 'other') return { kind: 'other', item_id, text: fields[fieldNames.other(item_id)] ?? '' };
  const chosen = item.options.find(({ id }) => optionChoice(id) === choice);
  return chosen && { kind: 'option', item_id, option_id: chosen.id };
}

/** What the schema says in one word; nothing where it says more. */
export function simpleTypeOf(schema: HumanItem['response_schema']): 'string' | 'number' | 'boolean' | undefined {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return undefined;
  const { type } = schema;
  if (type === 'integer') return 'number';
  return type === 'string' || type === 'number' || type === 'boolean' ? type : undefined;
}

type Value = Extract<ItemResponse, { kind: 'value' }>['value'];

/** What is not of its type stays text, which the schema then refuses. */
function typedValue(schema: HumanItem['response_schema'], text: string): Value {
  switch (simpleTypeOf(schema)) {
    case 'string':
      return text.replaceAll('\r\n', '\n');
    case 'number':
      return text.trim() === '' || !Number.isFinite(Number(text)) ? text : Number(text);
    case 'boolean':
      return text === 'true' || (text === 'false' ? false : text);
    case undefined:
      return jsonOr(text);
  }
}

function jsonOr(text: string): Value {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
