import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { AgentId, contract, FarmError, quotaSet, workerInvite } from '#contracts';
import { argumentFields, documentFields } from './fields.js';
import { readInput } from './read-input.js';

const everything = contract({
  name: 'thing_make',
  summary: 'Make a thing.',
  input: z.strictObject({
    name: z
      .string()
      .transform((text) => text.trim())
      .pipe(z.string().max(8)),
    size: z.int().max(9).default(3).describe('how big it is'),
    colour: z.enum(['red', 'blue']).optional(),
    tags: z.array(z.string()).default([]),
    loud: z.boolean().default(false),
    until: z.number().nullable().optional(),
    deep: z.strictObject({ er: z.string() }).optional().describe('what lies below'),
  }),
  output: z.strictObject({}),
  positional: ['name'],
});
const fields = argumentFields(everything);
const refusalOf = (given: Readonly<Record<string, unknown>>, whole?: unknown) => {
  try {
    readInput(everything, fields, given, whole);
  } catch (error) {
    if (error instanceof FarmError) return error;
  }
  throw new Error('it was accepted');
};

describe('arguments from a schema', () => {
  it('makes a flag of each field that fits in a word, and leaves the others to --input', () => {
    expect(fields.map(({ flag, shape, required, nullable }) => [flag, shape, required, nullable])).toEqual([
      ['name', 'text', true, false],
      ['size', 'number', false, false],
      ['colour', 'text', false, false],
      ['tags', 'list', false, false],
      ['loud', 'boolean', false, false],
      ['until', 'number', false, true],
    ]);
    expect(documentFields(everything)).toEqual([{ name: 'deep', about: 'what lies below' }]);
    expect(fields.find(({ name }) => name === 'colour')?.choices).toEqual(['red', 'blue']);
    expect(argumentFields(workerInvite).map(({ flag }) => flag)).toEqual([
      'pool',
      'project',
      'labels',
      'slots',
      'name',
    ]);
  });

  it('takes over what the schema says of a field, and which word the farm takes where none is given', () => {
    expect(fields.map(({ name, about, preset }) => [name, about, preset])).toEqual([
      ['name', '', undefined],
      ['size', 'how big it is', 3],
      ['colour', '', undefined],
      ['tags', '', undefined],
      ['loud', '', undefined],
      ['until', '', undefined],
    ]);
  });

  it('turns words into numbers and `none` into null, and sends what was given and nothing more', () => {
    expect(readInput(everything, fields, { name: ' a ', size: '4', until: 'none' }, undefined)).toEqual({
      name: ' a ',
      size: 4,
      until: null,
    });
    expect(readInput(quotaSet, argumentFields(quotaSet), { name: 'global', max: 'none' }, undefined)).toEqual({
      name: 'global',
      max: null,
    });
  });

  it('lays single arguments over the document of --input', () => {
    const whole = { name: 'a', size: 1, deep: { er: 'x' } };
    expect(readInput(everything, fields, { size: '2' }, whole)).toEqual({ name: 'a', size: 2, deep: { er: 'x' } });
    expect(refusalOf({}, [1])).toMatchObject({ code: 'invalid_input' });
  });

  it('names every argument that does not fit as it is typed, and never its value', () => {
    const refusal = refusalOf({ size: 'secret', tags: ['a'] }, { deep: { err: 1 }, other: 1 });
    expect(refusal.code).toBe('invalid_input');
    expect(refusal.fields).toEqual(
      expect.arrayContaining([
        { path: '<name>', rule: 'is missing' },
        { path: '--size', rule: 'must be a number' },
        { path: '/deep/er', rule: 'is missing' },
      ]),
    );
    expect(JSON.stringify(refusal)).not.toContain('secret');
  });

  it('says which form a value does not have, and that a choice is missing', () => {
    const strict = contract({
      name: 'thing_find',
      summary: 'Find a thing.',
      input: z.strictObject({
        colour: z.enum(['red', 'blue']),
        agent: AgentId,
        kind: z.string().regex(/^[a-z]+$/),
        since: z.iso.datetime({ offset: true }),
      }),
      output: z.strictObject({}),
      positional: ['colour'],
    });
    const given = { agent: 'clerk', kind: 'A.b', since: 'yesterday' };
    expect(() => readInput(strict, argumentFields(strict), given, undefined)).toThrow(
      expect.objectContaining({
        fields: [
          { path: '<colour>', rule: 'is missing' },
          { path: '--agent', rule: 'must be an id that begins with a_, not a name' },
          { path: '--kind', rule: 'must have the form /^[a-z]+$/' },
          { path: '--since', rule: 'must be a time such as 2026-01-31T08:00:00Z' },
        ],
      }),
    );
  });

  it('names the bounds, and the flag of a field that a command fills in its own way', () => {
    expect(refusalOf({ name: 'a', size: '12', colour: 'green' }).fields).toEqual([
      { path: '--size', rule: 'must be at most 9' },
      { path: '--colour', rule: 'must be one of red, blue' },
    ]);
    expect(refusalOf({ name: 'much too long' }).fields).toEqual([
      { path: '<name>', rule: 'must be at most 8 characters' },
    ]);
    expect(() => readInput(everything, fields, { name: 'a' }, { deep: {} }, { deep: '--depth' })).toThrow(
      expect.objectContaining({ fields: [{ path: '--depth/er', rule: 'is missing' }] }),
    );
  });
});
