import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { canonicalJson, contract } from '#contracts';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { type InputHasher, openFarmKeys } from '../keys/farm-keys.js';
import { operationFor } from '../operation.js';

let hasher: InputHasher;
beforeAll(async () => {
  hasher = (await openFarmKeys(tempDir('keys'))).inputs;
});

/** What JSON can carry and PostgreSQL can hold. */
const json = fc.jsonValue({ maxDepth: 4 });

/** The same value, with the keys of every object in the opposite order. */
function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reordered(member)]),
  );
}

/** As it comes over the wire, where -0 is 0. */
const sent = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const hex = (value: unknown, name = 'x') => hasher.hash(name, value).toString('hex');

const settings = z.strictObject({
  name: z.string(),
  limit: z.int().default(50),
  labels: z.array(z.string()).default([]),
  verify: z.boolean().optional(),
});
const settingsOf = (input: z.ZodType) =>
  operationFor<object>()(
    contract({ name: 'thing_set', summary: 'For a test.', input, output: z.strictObject({}) }),
    { catalogue: 'operator', class: 'read', ceiling: 'on' },
    { run: async () => ({}) },
  );
const operation = settingsOf(settings);

function readHash(input: unknown): string {
  const outcome = operation.readInput(input);
  if (!outcome.ok) throw new Error('the input does not fit');
  return hex(outcome.read.value);
}

describe('the hash of an input', () => {
  it('A6.7 S3.3 is one for equal values, whatever the order of their keys', () => {
    fc.assert(
      fc.property(json, (value) => hex(reordered(value)) === hex(value)),
      { numRuns: 500 },
    );
  });

  it('A6.7 S3.3 is another for any other value, and for any other operation', () => {
    fc.assert(
      fc.property(json, json, (one, other) => {
        const isSame = isDeepStrictEqual(sent(one), sent(other));
        return (hex(one) === hex(other)) === isSame;
      }),
      { numRuns: 500 },
    );
    fc.assert(fc.property(json, (value) => hex(value, 'x') !== hex(value, 'y')));
  });

  it('A6.7 is of the text of RFC 8785: sorted by UTF-16 code units, without spaces, numbers as JavaScript says them', () => {
    expect(canonicalJson({ '\u20ac': 1, '\r': 2, '1': 3, '\ud83d\ude02': 4, ö: 5, '\ufb33': 6 })).toBe(
      '{"\\r":2,"1":3,"ö":5,"€":1,"😂":4,"\ufb33":6}',
    );
    expect(canonicalJson([333333333.3333333, 1e30, 4.5, 0.002, 1e-27, -0])).toBe(
      '[333333333.3333333,1e+30,4.5,0.002,1e-27,0]',
    );
    fc.assert(fc.property(json, (value) => canonicalJson(JSON.parse(canonicalJson(value))) === canonicalJson(value)));
  });

  it('A6.7 is one whether a default is sent or left out', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme-ascii' }),
        fc.option(fc.boolean(), { nil: undefined }),
        (name, verify) => {
          const sent = { verify, limit: 50, labels: [], name };
          return readHash(sent) === readHash(verify === undefined ? { name } : { name, verify });
        },
      ),
    );
  });

  it('A6.7 is keyed: another farm has another hash for the same input', async () => {
    const other = (await openFarmKeys(tempDir('keys'))).inputs;
    expect(other.hash('x', { a: 1 })).not.toEqual(hasher.hash('x', { a: 1 }));
  });

  it('A6.7 goes with the version of the schema that read it', () => {
    const changed = settingsOf(settings.extend({ limit: z.int().default(51) }));
    expect(changed.inputVersion).not.toBe(operation.inputVersion);
    expect(settingsOf(settings).inputVersion).toBe(operation.inputVersion);
  });
});
