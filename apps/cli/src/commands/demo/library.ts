import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { childEnvironment } from '../../services/child-environment.js';

/** A small library whose own test fails; it needs Node alone. */
const files: Readonly<Record<string, string>> = {
  'package.json': `${JSON.stringify(
    {
      name: 'slug',
      version: '1.0.0',
      private: true,
      type: 'module',
      exports: './src/slug.js',
      scripts: { test: 'node --test' },
    },
    null,
    2,
  )}\n`,
  'README.md': '# slug\n\nTurns a title into the last part of a URL. `npm test` runs its test.\n',
  'src/slug.js': `import { plainLetters } from './letters.js';
import { joinWords } from './words.js';

/** The last part of a URL for a title: "Hello World" is "hello-world". */
export function slug(title) {
  return joinWords(plainLetters(title));
}
`,
  'src/letters.js': `/** Small letters without accents. */
export function plainLetters(text) {
  return text.toLowerCase();
}
`,
  'src/words.js': `/** Words with one hyphen between them, and nothing else. */
export function joinWords(text) {
  return text.replaceAll(' ', '-');
}
`,
  'test/slug.test.js': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slug } from '../src/slug.js';

test('joins words with a hyphen', () => {
  assert.equal(slug('Hello World'), 'hello-world');
});

test('keeps nothing that does not belong into a URL', () => {
  assert.equal(slug('  Crème brûlée, twice! '), 'creme-brulee-twice');
});
`,
};

/** Makes the library as a git repository with one commit on \`main\`. */
export async function makeLibrary(dir: string): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), content);
  }
  await gitIn(dir, ['init', '--quiet', '--initial-branch=main']);
  await gitIn(dir, ['add', '--all']);
  await gitIn(dir, ['commit', '--quiet', '--message=A slug library, with a test that fails']);
}

/** Nobody's configuration: a signing key or a hook of the person must not decide whether the demonstration works. */
export async function gitIn(dir: string, args: readonly string[]): Promise<string> {
  const person = { NAME: 'Ada', EMAIL: 'ada@localhost' };
  const { stdout } = await execa('git', args, {
    cwd: dir,
    env: {
      ...childEnvironment(),
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: person.NAME,
      GIT_AUTHOR_EMAIL: person.EMAIL,
      GIT_COMMITTER_NAME: person.NAME,
      GIT_COMMITTER_EMAIL: person.EMAIL,
    },
    extendEnv: false,
    stdin: 'ignore',
  });
  return stdout;
}

/** Whether the library's own test passes at a commit, in a fresh clone. */
export async function testPassesAt(dir: string, commit: string, clone: string): Promise<boolean> {
  await gitIn(dir, ['clone', '--quiet', '--no-hardlinks', dir, clone]);
  await gitIn(clone, ['checkout', '--quiet', commit]);
  const { exitCode } = await execa(process.execPath, ['--test'], {
    cwd: clone,
    env: childEnvironment(),
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
  });
  return exitCode === 0;
}
