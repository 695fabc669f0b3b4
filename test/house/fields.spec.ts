import { describe, expect, it } from '@jest/globals';
import { operations } from '../../apps/controller/src/operations/catalogue.js';
import { memberContracts, toolsOf } from '../../apps/worker/src/member-door/member-tools.js';

const longest = 100;

interface Field {
  readonly path: string;
  readonly text: unknown;
}

type Schema = Readonly<Record<string, unknown>>;
const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null;

/** Every field of a JSON Schema, at every depth; what stands under `$defs` once, where it is defined. */
function fieldsOf(root: Schema): readonly Field[] {
  const definitions = isSchema(root.$defs) ? root.$defs : {};
  const textOf = (property: Schema): unknown =>
    property.description ?? (typeof property.$ref === 'string' ? referred(property.$ref)?.description : undefined);
  const referred = (ref: string): Schema | undefined => {
    const found = definitions[ref.replace('#/$defs/', '')];
    return isSchema(found) ? found : undefined;
  };
  const below = (schema: unknown, path: string): readonly Field[] => {
    if (!isSchema(schema)) return [];
    const own = isSchema(schema.properties) ? Object.entries(schema.properties) : [];
    const parts = [schema.items, schema.additionalProperties, schema.anyOf, schema.oneOf, schema.allOf].flat();
    return [
      ...own.flatMap(([name, property]) => {
        const here = `${path}.${name}`;
        return [{ path: here, text: isSchema(property) ? textOf(property) : undefined }, ...below(property, here)];
      }),
      ...parts.flatMap((part) => below(part, path)),
    ];
  };
  return [root, ...Object.values(definitions)].flatMap((schema) => below(schema, ''));
}

const isPhrase = (text: unknown) =>
  typeof text === 'string' && text.length <= longest && /^[a-z][^\n]+[^.\s]$/.test(text);

const said = (tools: readonly { readonly name: string; readonly inputSchema: Schema }[]) =>
  tools.flatMap(({ name, inputSchema }) =>
    fieldsOf(inputSchema).map(({ path, text }) => ({ path: `${name}${path}`, text })),
  );

describe('the fields of an input', () => {
  it('say what they are, each at every depth, in one short phrase', () => {
    const fields = said(operations);
    expect(fields.length).toBeGreaterThan(500);
    expect(fields.filter(({ text }) => !isPhrase(text))).toEqual([]);
  });

  it('say it to members, too, whatever these may ask of people', () => {
    const fields = said(toolsOf({ tools: [...memberContracts.keys()], humanKinds: ['approval'] }));
    expect(fields.map(({ path }) => path)).toContain('open_human_request.request.kind');
    expect(fields.filter(({ text }) => !isPhrase(text))).toEqual([]);
  });
});
