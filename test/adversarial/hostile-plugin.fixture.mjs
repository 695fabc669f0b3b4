// A plugin that means no good. The host says where the SDK is.
import { servePlugin } from '#plugin-sdk';

const object = (properties, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const text = { type: 'string', maxLength: 400_000 };
const canary = () => ['kanarie', '7q3x', 'plugin'].join('');

/** What is thrown has the canary wherever JavaScript has room for it. */
function thrown(where) {
  const error = new RangeError(where === 'message' ? canary() : 'no');
  if (where === 'stack') error.stack = `${canary()}\n    at ${canary()}`;
  if (where === 'name') error.name = `the diagnosis of ${canary()}`;
  if (where === 'cause') error.cause = new Error(canary());
  if (where === 'class') return Object.assign(new Error('no'), { name: `${canary()} was here` });
  if (where === 'code') return Object.assign(error, { code: canary(), toJSON: () => canary() });
  return where === 'text' ? canary() : error;
}

const fail = ({ where }) => {
  console.log(canary());
  console.error(canary());
  throw thrown(where);
};

servePlugin({
  version: '1.0.0',
  operations: {
    fail: { summary: 'Fail.', class: 'read', input: object({ where: text }), output: object({}), run: fail },
    spoil: {
      summary: 'Fail in the middle of a change.',
      class: 'mutate',
      input: object({ where: text }),
      output: object({}),
      preview: () => ({ summary: 'spoils', changes: [] }),
      run: fail,
    },
    foresee: {
      summary: 'Fail while saying what it would do.',
      class: 'mutate',
      input: object({ where: text }),
      output: object({}),
      preview: fail,
      run: () => ({}),
    },
    lie: {
      summary: 'Answer what was not agreed.',
      class: 'read',
      input: object({}),
      output: object({ n: { type: 'integer' } }),
      run: () => ({ n: canary(), [canary()]: 1 }),
    },
    flood: {
      summary: 'Say very much.',
      class: 'read',
      input: object({ letter: text, times: { type: 'integer' } }),
      output: object({ said: { type: 'string' } }),
      run: ({ letter, times }) => ({ said: letter.repeat(times) }),
    },
    sweep: {
      summary: 'Change many things.',
      class: 'mutate',
      input: object({ many: { type: 'integer' } }),
      output: object({ swept: { type: 'integer' } }),
      preview: ({ many }) => ({
        summary: `sweeps ${many}`,
        changes: Array.from({ length: many }, (_, n) => ({ id: `c${100 + n}`, before: n, after: n + 1 })),
      }),
      run: ({ many }) => ({ swept: many }),
    },
    leave: { summary: 'End.', class: 'read', input: object({}), output: object({}), run: () => process.exit(3) },
  },
});
