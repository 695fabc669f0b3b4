import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { storable } from '#contracts';
import { invalidInput } from './input-errors.js';

function fieldsOf(schema: z.ZodType, value: unknown) {
  const parsed = schema.safeParse(value);
  if (parsed.success) throw new Error('the value fits');
  return invalidInput(schema, parsed.error.issues).fields;
}

const Schema = z.strictObject({
  email: z.email().optional(),
  limit: z.int().max(50).optional(),
  word: z.enum(['red', 'green']).optional(),
  tags: z.record(z.string().regex(/^[a-z]+$/), z.int()).optional(),
  list: z.array(z.strictObject({ name: z.string() })).optional(),
  text: storable(8).optional(),
  shape: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('a'), size: z.int() }),
      z.strictObject({ kind: z.literal('b') }),
    ])
    .optional(),
  either: z.union([z.strictObject({ deep: z.strictObject({ n: z.int() }) }), z.boolean()]).optional(),
  'odd/~name': z.int().optional(),
});

describe('what does not fit an input', () => {
  it('A5.7 is named by field and rule, and never by value', () => {
    expect(fieldsOf(Schema, { email: 'a@@b' })).toEqual([{ path: '/email', rule: 'format:email' }]);
  });

  it('A5.8 names no key of the caller: unknown ones are counted, those of records are stars', () => {
    expect(fieldsOf(Schema, { SECRETFIELD: 1, OTHER: 2 })).toEqual([{ path: '', rule: 'unknown_field', count: 2 }]);
    expect(fieldsOf(Schema, { list: [{ name: 'x', SECRETFIELD: 1 }] })).toEqual([
      { path: '/list/0', rule: 'unknown_field', count: 1 },
    ]);
    expect(fieldsOf(Schema, { tags: { 'SECRET-KEY': 1 } })).toEqual([{ path: '/tags/*', rule: 'key' }]);
    expect(fieldsOf(Schema, { tags: { secret: 'v' } })).toEqual([{ path: '/tags/*', rule: 'type:number' }]);
  });

  it('A5.8 forwards no message of a refinement, only the rule that it names', () => {
    expect(fieldsOf(Schema, { text: 'far too long' })).toEqual([{ path: '/text', rule: 'max_bytes:8' }]);
    const quoting = z.strictObject({ a: z.string().refine(() => false, { error: (issue) => `bad ${issue.input}` }) });
    expect(fieldsOf(quoting, { a: 'SECRET' })).toEqual([{ path: '/a', rule: 'invalid' }]);
  });

  it('A5.9 tells what the schema tells anyway: bounds, members, types', () => {
    expect(fieldsOf(Schema, { limit: 999 })).toEqual([{ path: '/limit', rule: 'max:50' }]);
    expect(fieldsOf(Schema, { word: 'blue' })).toEqual([{ path: '/word', rule: 'one_of:red|green' }]);
    expect(fieldsOf(Schema, { 'odd/~name': 'x' })).toEqual([{ path: '/odd~1~0name', rule: 'type:number' }]);
    expect(fieldsOf(Schema, 'x')).toEqual([{ path: '', rule: 'type:object' }]);
  });

  it('looks into the branch of a union that was meant', () => {
    expect(fieldsOf(Schema, { shape: { kind: 'a', size: 'x' } })).toEqual([
      { path: '/shape/size', rule: 'type:number' },
    ]);
    expect(fieldsOf(Schema, { either: { deep: { n: 'x' } } })).toEqual([
      { path: '/either/deep/n', rule: 'type:number' },
    ]);
    expect(fieldsOf(Schema, { shape: { kind: 'SECRET' } })).toEqual([{ path: '/shape/kind', rule: 'shape' }]);
  });

  it('A5.10 stops at twenty, in the order of the schema', () => {
    const many = z.strictObject(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}`, z.int()])));
    const fields = fieldsOf(many, {});
    expect(fields?.map(({ path }) => path)).toEqual(Array.from({ length: 20 }, (_, n) => `/f${n}`));
  });
});
