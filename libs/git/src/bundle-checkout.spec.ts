import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { roundOf } from '../../../test/support/git-round.js';
import { aRepository, commitFiles, filesAt, plainGit, writeFiles } from '../../../test/support/repositories.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { bundleCheckout } from './bundle-checkout.js';
import { importBundle } from './import-bundle.js';
import { openStore } from './store.js';

jest.setTimeout(60_000);

const out = (): string => join(tempDir(), 'source.bundle');

/** Everything of a checkout that must not move: names, bytes, index, refs, reflog. */
async function fingerprint(dir: string): Promise<string> {
  const hash = createHash('sha256');
  const names = await readdir(dir, { recursive: true, withFileTypes: true });
  for (const entry of names
    .map((each) => ({ path: join(each.parentPath, each.name), file: each.isFile() }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))) {
    hash.update(entry.path).update(entry.file ? readFileSync(entry.path) : '');
  }
  return hash.digest('hex');
}

function dirtyCheckout(): string {
  const dir = aRepository({
    'staged.txt': '1\n',
    'unstaged.txt': '1\n',
    'both.txt': '1\n',
    'deleted.txt': '1\n',
    '.gitignore': '*.secret\n',
    'turns/x': 'x',
  });
  commitFiles(dir, { 'second.txt': '2' }, 'Second');
  writeFiles(dir, { 'staged.txt': '2\n', 'both.txt': '2\n' });
  plainGit(dir, ['add', 'staged.txt', 'both.txt']);
  rmSync(join(dir, 'deleted.txt'));
  rmSync(join(dir, 'turns'), { recursive: true });
  writeFiles(dir, {
    'unstaged.txt': '2\n',
    'both.txt': '3\n',
    'untracked/file.txt': 'u',
    'key.secret': 'ignored',
    turns: 'file',
    ':odd': 'odd',
  });
  return dir;
}

describe('the user’s checkout', () => {
  it('W8 is the base with its unfinished work, which is in no delta', async () => {
    const dir = dirtyCheckout();
    const head = plainGit(dir, ['rev-parse', 'HEAD']);
    const source = await bundleCheckout({ dir, out: out() });
    expect(source).toMatchObject({ dirty: true, head, nested: [] });
    const store = await openStore(join(tempDir(), 'store'));
    expect(await importBundle(store, source.bundle)).toEqual({ head: source.base });
    expect(plainGit(store.dir, ['rev-parse', `${source.base}^`])).toBe(head);
    expect(Object.keys(filesAt(store.dir, source.base))).toEqual([
      '.gitignore',
      ':odd',
      'both.txt',
      'second.txt',
      'staged.txt',
      'turns',
      'unstaged.txt',
      'untracked/file.txt',
    ]);
    for (const [path, content] of [
      ['both.txt', '3'],
      ['staged.txt', '2'],
      ['unstaged.txt', '2'],
    ] as const) {
      expect(plainGit(store.dir, ['show', `${source.base}:${path}`])).toBe(content);
    }
    const workspace = await (await roundOf(dir)).workspace();
    expect(workspace.base).toBe(source.base);
    writeFiles(workspace.dir, { 'work.txt': 'work' });
    const capture = await workspace.capture();
    expect(capture.kind === 'captured' && capture.files.map(({ path }) => path)).toEqual(['work.txt']);
  });

  it('W8 stays as it is: index, refs, objects, reflog and working tree', async () => {
    const dir = dirtyCheckout();
    plainGit(dir, ['update-index', '--assume-unchanged', 'second.txt']);
    writeFiles(dir, { 'second.txt': 'edited under the flag' });
    const before = await fingerprint(dir);
    const source = await bundleCheckout({ dir, out: out() });
    expect(await fingerprint(dir)).toBe(before);
    const store = await openStore(join(tempDir(), 'store'));
    await importBundle(store, source.bundle);
    expect(plainGit(store.dir, ['show', `${source.base}:second.txt`])).toBe('edited under the flag');
  });

  it('W8 holds an edit made in the second in which the index was written', async () => {
    const dir = aRepository({ 'a.txt': 'one\n' });
    plainGit(dir, ['config', 'core.trustctime', 'false']);
    const then = 1_700_000_000;
    utimesSync(join(dir, 'a.txt'), then, then);
    plainGit(dir, ['update-index', '--refresh']);
    utimesSync(join(dir, '.git/index'), then, then);
    writeFileSync(join(dir, 'a.txt'), 'two\n');
    utimesSync(join(dir, 'a.txt'), then, then);
    expect(await bundleCheckout({ dir, out: out() })).toMatchObject({ dirty: true });
  });

  it('is its HEAD when it is clean, and the same source when it is read twice', async () => {
    const dir = aRepository();
    const clean = await bundleCheckout({ dir, out: out() });
    expect(clean).toMatchObject({ dirty: false, base: clean.head });
    expect(clean.sha256).toBe(createHash('sha256').update(readFileSync(clean.bundle)).digest('hex'));
    expect(clean.bytes).toBe(readFileSync(clean.bundle).length);
    writeFiles(dir, { 'new.txt': 'new' });
    const [one, two] = [await bundleCheckout({ dir, out: out() }), await bundleCheckout({ dir, out: out() })];
    expect(two).toMatchObject({ base: one.base, sha256: one.sha256 });
  });

  it('may be a folder below, a linked worktree, or stand in a path with colons', async () => {
    const dir = join(tempDir(), 'a:b "c');
    mkdirSync(dir);
    plainGit(dir, ['init', '-q', '-b', 'main']);
    const head = commitFiles(dir, { 'sub/a.txt': 'a' }, 'Begin');
    writeFiles(dir, { 'sub/new.txt': 'n' });
    expect(await bundleCheckout({ dir: join(dir, 'sub'), out: out() })).toMatchObject({ head, dirty: true });
    const linked = join(tempDir(), 'linked');
    plainGit(dir, ['worktree', 'add', '-q', linked]);
    writeFiles(linked, { 'only-here.txt': 'n' });
    const source = await bundleCheckout({ dir: linked, out: out() });
    const store = await openStore(join(tempDir(), 'store'));
    await importBundle(store, source.bundle);
    expect(Object.keys(filesAt(store.dir, source.base))).toEqual(['only-here.txt', 'sub/a.txt']);
  });

  it('runs no hook of the repository and obeys no GIT_DIR of the process', async () => {
    const dir = aRepository();
    const elsewhere = aRepository({ 'wrong.txt': 'wrong' });
    const mark = join(tempDir(), 'mark');
    for (const hook of ['post-index-change', 'reference-transaction', 'pre-commit', 'fsmonitor-watchman']) {
      writeFiles(dir, { [`.git/hooks/${hook}`]: { run: `#!/bin/sh\ntouch ${mark}\n` } });
    }
    plainGit(dir, ['config', 'core.fsmonitor', '.git/hooks/fsmonitor-watchman']);
    writeFiles(dir, { 'new.txt': 'n' });
    process.env.GIT_DIR = join(elsewhere, '.git');
    process.env.GIT_INDEX_FILE = join(elsewhere, '.git/index');
    try {
      expect(await bundleCheckout({ dir, out: out() })).toMatchObject({
        head: plainGit(dir, ['rev-parse', 'HEAD']),
        dirty: true,
      });
    } finally {
      delete process.env.GIT_DIR;
      delete process.env.GIT_INDEX_FILE;
    }
    expect(() => readFileSync(mark)).toThrow();
  });

  it('names untracked repositories inside it, which are not part of the source', async () => {
    const dir = aRepository();
    writeFiles(dir, { 'with/a': 'a', 'without/b': 'b', 'plain/c': 'c' });
    plainGit(join(dir, 'without'), ['init', '-q']);
    plainGit(join(dir, 'with'), ['init', '-q']);
    commitFiles(join(dir, 'with'), {}, 'Nested');
    expect((await bundleCheckout({ dir, out: out() })).nested).toEqual(['with', 'without']);
  });

  it('D19 is refused when it is shallow, naming the way out', async () => {
    const origin = aRepository();
    commitFiles(origin, { 'b.txt': 'b' }, 'Second');
    const dir = join(tempDir(), 'shallow');
    plainGit('/', ['clone', '-q', '--depth', '1', `file://${origin}`, dir]);
    await expect(bundleCheckout({ dir, out: out() })).rejects.toMatchObject({
      code: 'source_refused',
      hint: expect.stringContaining('git fetch --unshallow'),
    });
  });

  it('is refused, each by its own name, when it is no source', async () => {
    const empty = tempDir();
    plainGit(empty, ['init', '-q']);
    const bare = tempDir();
    plainGit(bare, ['init', '-q', '--bare']);
    const sha256 = tempDir();
    plainGit(sha256, ['init', '-q', '--object-format=sha256']);
    commitFiles(sha256, { a: 'a' }, 'A');
    const partial = aRepository();
    plainGit(partial, ['config', 'remote.origin.promisor', 'true']);
    const file = join(tempDir(), 'file');
    writeFileSync(file, '');
    const large = aRepository();
    writeFiles(large, { 'large.bin': '' });
    truncateSync(join(large, 'large.bin'), 1.5 * 1024 ** 3);
    const cases = [
      [join(empty, 'missing'), /does not exist/],
      [file, /not a folder/],
      [tempDir(), /not a git repository/],
      [empty, /no commits yet/],
      [bare, /bare/],
      [sha256, /object format/],
      [partial, /partial clone/],
      [large, /larger than a source may be/],
    ] as const;
    for (const [dir, why] of cases) {
      await expect(bundleCheckout({ dir, out: out() })).rejects.toMatchObject({
        code: 'source_refused',
        detail: expect.stringMatching(why),
        hint: expect.stringMatching(/\w+/),
      });
    }
  });

  it('takes line endings and ignore rules as the user’s git does', async () => {
    const dir = aRepository({ '.gitattributes': '* text=auto\n', 'a.txt': 'a\n' });
    writeFiles(dir, { 'crlf.txt': 'one\r\ntwo\r\n', '.git/info/exclude': 'private.txt\n', 'private.txt': 'mine' });
    const source = await bundleCheckout({ dir, out: out() });
    const store = await openStore(join(tempDir(), 'store'));
    await importBundle(store, source.bundle);
    expect(plainGit(store.dir, ['cat-file', 'blob', `${source.base}:crlf.txt`])).toBe('one\ntwo');
    expect(Object.keys(filesAt(store.dir, source.base))).toEqual(['.gitattributes', 'a.txt', 'crlf.txt']);
  });
});

describe('an uploaded source', () => {
  it('D19 is refused when a part of its history is missing', async () => {
    const origin = aRepository();
    commitFiles(origin, { 'b.txt': 'b' }, 'Second');
    const shallow = join(tempDir(), 'shallow');
    plainGit('/', ['clone', '-q', '--depth', '1', `file://${origin}`, shallow]);
    const lying = out();
    plainGit(shallow, ['bundle', 'create', '-q', lying, 'HEAD']);
    const partly = out();
    plainGit(origin, ['bundle', 'create', '-q', partly, 'HEAD', '^HEAD~1']);
    const store = await openStore(join(tempDir(), 'store'));
    await expect(importBundle(store, lying)).rejects.toMatchObject({
      code: 'source_refused',
      hint: expect.stringContaining('--unshallow'),
    });
    await expect(importBundle(store, partly)).rejects.toMatchObject({ code: 'source_refused' });
    // also when the store happens to hold the rest
    const whole = out();
    plainGit(origin, ['bundle', 'create', '-q', whole, 'HEAD']);
    await importBundle(store, whole);
    await expect(importBundle(store, lying)).rejects.toMatchObject({ code: 'source_refused' });
    expect(await readdir(join(store.dir, 'quarantine'))).toEqual([]);
  });

  it('H31 is refused over its limits, damaged, or with a .git in its history', async () => {
    const dir = aRepository({ 'zeros.bin': Buffer.alloc(5 * 1024 ** 2) });
    const store = await openStore(join(tempDir(), 'store'));
    const { bundle } = await bundleCheckout({ dir, out: out() });
    const ask = (path: string, limits = {}) =>
      importBundle(store, path, { limits }).then(
        () => 'taken',
        (fault: { code: string; detail: string }) => `${fault.code}: ${fault.detail}`,
      );
    expect(await ask(bundle, { sourceBytes: 100 })).toBe('source_refused: The source is larger than its limit.');
    expect(await ask(bundle, { sourceObjects: 2 })).toBe('source_refused: The pack holds more objects than its limit.');
    expect(await ask(bundle, { packInflatedBytes: 1024 ** 2 })).toBe(
      'source_refused: The files of the source take more than their limit.',
    );
    expect(await ask(bundle, { diskFloorBytes: Number.MAX_SAFE_INTEGER })).toMatch(/^disk_full/);
    const cut = out();
    writeFileSync(cut, readFileSync(bundle).subarray(0, -30));
    expect(await ask(cut)).toBe('source_refused: The pack is truncated or damaged.');
    writeFileSync(cut, 'hello');
    expect(await ask(cut)).toBe('source_refused: The file is not a git bundle.');

    const blob = plainGit(dir, ['hash-object', '-w', '--stdin'], 'x');
    const entry = Buffer.concat([Buffer.from('100644 .git\0'), Buffer.from(blob, 'hex')]);
    const tree = plainGit(dir, ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'], entry);
    const evil = plainGit(dir, ['commit-tree', tree, '-m', 'evil']);
    plainGit(dir, [
      'update-ref',
      'refs/heads/main',
      plainGit(dir, ['commit-tree', 'HEAD^{tree}', '-p', 'HEAD', '-p', evil, '-m', 'hides it']),
    ]);
    const hiding = await bundleCheckout({ dir, out: out() });
    expect(await ask(hiding.bundle)).toBe('source_refused: A tree in the pack holds a .git.');
    expect(await ask(bundle)).toBe('taken');
  });

  it('may have the harmless faults of an old history', async () => {
    const dir = aRepository();
    const blob = plainGit(dir, ['hash-object', '-w', '--stdin'], 'x');
    const sub = plainGit(dir, ['mktree'], `100644 blob ${blob}\tx\n`);
    const entry = Buffer.concat([Buffer.from('040000 padded\0'), Buffer.from(sub, 'hex')]);
    const tree = plainGit(dir, ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'], entry);
    plainGit(dir, ['update-ref', 'refs/heads/main', plainGit(dir, ['commit-tree', tree, '-m', 'old'])]);
    plainGit(dir, ['reset', '-q', '--hard']);
    chmodSync(join(dir, 'padded/x'), 0o644);
    const { bundle, base } = await bundleCheckout({ dir, out: out() });
    const store = await openStore(join(tempDir(), 'store'));
    expect(await importBundle(store, bundle)).toEqual({ head: base });
  });
});
