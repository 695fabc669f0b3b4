// A plugin of Longshore in one file: release notes from commit subjects, kept in a file of the plugin's own.
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { servePlugin } from '#plugin-sdk';

const text = (maxLength) => ({ type: 'string', minLength: 1, maxLength });
const object = (properties, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

/** Conventional commits, in the order in which people want to read them. */
const kinds = { feat: 'New', fix: 'Fixed', perf: 'Faster' };

function draft({ title, commits }) {
  const lines = commits.map(({ id, subject }) => {
    const [, kind = '', rest = subject] = /^(\w+)(?:\([^)]*\))?!?: (.+)$/.exec(subject) ?? [];
    return { heading: kinds[kind] ?? 'Other', line: `- ${rest} (${id.slice(0, 8)})` };
  });
  const sections = [...Object.values(kinds), 'Other'].flatMap((heading) => {
    const own = lines.filter((each) => each.heading === heading).map(({ line }) => line);
    return own.length === 0 ? [] : [`### ${heading}\n\n${own.join('\n')}`];
  });
  return { markdown: [`## ${title}`, ...sections].join('\n\n') };
}

const fileOf = ({ state }) => join(state, 'CHANGELOG.md');
const linesOf = (content) => content.split('\n').length - 1;
const read = (call) => readFile(fileOf(call), 'utf8').catch(() => '');

servePlugin({
  version: '1.0.0',
  operations: {
    draft: {
      summary: 'Release notes from the subjects of commits.',
      class: 'read',
      input: object({
        title: text(128),
        commits: { type: 'array', maxItems: 500, items: object({ id: text(64), subject: text(512) }) },
      }),
      output: object({ markdown: { type: 'string' } }),
      run: draft,
    },
    append: {
      summary: 'Put release notes at the end of the changelog.',
      class: 'mutate',
      input: object({ markdown: text(65_536) }),
      output: object({ lines: { type: 'integer' } }),
      async preview({ markdown }, call) {
        const before = linesOf(await read(call));
        const after = before + linesOf(`${markdown}\n`);
        return {
          summary: 'adds to the changelog',
          changes: [{ id: 'CHANGELOG.md', before: { lines: before }, after: { lines: after } }],
        };
      },
      async run({ markdown }, call) {
        await appendFile(fileOf(call), `${markdown}\n`);
        return { lines: linesOf(await read(call)) };
      },
    },
  },
});
