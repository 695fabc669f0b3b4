import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
const read = (pattern: string) =>
  globSync(pattern, { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'));

const id = '[A-Z]\\d{1,2}c?(?:\\.\\d{1,2})?';
const titles = new RegExp(`\\bit(?:[A-Z]\\w+)?(?:\\.each\\([^]*?\\))?\\(\\s*['"\`]((?:${id}[ ,]+)+)`, 'g');

/** Rules that the title of a test names. */
function proved(): ReadonlySet<string> {
  const found = read('{apps,libs,test}/**/*.spec.ts').flatMap((text) =>
    [...text.matchAll(titles)].map(([, ids = '']) => ids),
  );
  return new Set(found.flatMap((ids) => ids.match(new RegExp(id, 'g')) ?? []));
}

/** Rules that docs/specification states. */
function stated(): ReadonlySet<string> {
  const lines = read('docs/specification/*.md').flatMap((text) => [
    ...text.matchAll(new RegExp(`\\*\\*(${id}(?:[, ]+${id})*)\\*\\*`, 'g')),
  ]);
  return new Set(lines.flatMap(([, ids = '']) => ids.match(new RegExp(id, 'g')) ?? []));
}

const missingFrom = (set: ReadonlySet<string>, of: ReadonlySet<string>) =>
  [...of].filter((rule) => !set.has(rule)).sort();

describe('docs/specification', () => {
  it('states each rule that a test names', () => {
    expect(missingFrom(stated(), proved())).toEqual([]);
  });

  it('states no rule that no test proves', () => {
    expect(missingFrom(proved(), stated())).toEqual([]);
  });
});
