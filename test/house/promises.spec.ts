import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
const shown = [
  ...globSync('*.md', { cwd: root }),
  ...globSync('docs/**/*.md', { cwd: root }),
  ...globSync('{apps,libs}/*/src/**/*.ts', { cwd: root }),
];

describe('what we tell people', () => {
  it('P6 never claims that something happens exactly once, and names what may happen twice', () => {
    const claims = shown.filter(
      (file) => /exactly[ -]once/i.test(textOf(file)) && !file.startsWith('docs/specification/'),
    );
    expect(claims).toEqual([]);
    const page = textOf('docs/decisions/0006-what-may-happen-twice.md');
    for (const effect of ["a member's turn", 'setup and verify commands', 'rings on NATS']) {
      expect(page).toMatch(new RegExp(`^\\| ${effect}.*\\| +(at least once|any number) +\\|`, 'm'));
    }
    expect(textOf('README.md')).toContain('docs/decisions/0006-what-may-happen-twice.md');
  });
});
