import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { aRepository, commitFiles, plainGit } from '../../../test/support/repositories.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { patchFor } from './patch-for.js';
import { type Push, pushBranch } from './push-branch.js';
import { withRemote } from './remote/remote.js';
import { showDiff, showHistory, touchedPaths } from './show-diff.js';
import { openStore } from './store.js';

/** A store with the commits of a checkout, and that checkout. */
async function aStore(files: Parameters<typeof aRepository>[0] = { 'a.txt': 'one\n' }) {
  const work = aRepository(files);
  const base = plainGit(work, ['rev-parse', 'HEAD']);
  const store = await openStore(join(tempDir('store'), 'store.git'));
  const take = (): string => {
    plainGit(work, ['push', '-q', '--force', store.dir, 'HEAD:refs/test/head']);
    return plainGit(work, ['rev-parse', 'HEAD']);
  };
  take();
  return { work, base, store, take };
}

const treeAt = (dir: string, commit: string) => plainGit(dir, ['rev-parse', `${commit}^{tree}`]);

/** What `git am` makes of a mailbox upon the base. */
function applied(work: string, base: string, mailbox: string): string {
  const dir = tempDir('am');
  plainGit(dir, ['clone', '-q', work, 'clone']);
  const clone = join(dir, 'clone');
  plainGit(clone, ['checkout', '-q', '--detach', base]);
  plainGit(clone, ['am', '-q', mailbox]);
  return treeAt(clone, 'HEAD');
}

describe('the patch of a history', () => {
  it('leads `git am` to the very tree: binary files, modes, links, names, deletions', async () => {
    const { work, base, store, take } = await aStore({
      'a.txt': 'one\n',
      'gone.txt': 'x\n',
      'old name.txt': 'y\n'.repeat(20),
    });
    plainGit(work, ['rm', '-q', 'gone.txt']);
    plainGit(work, ['mv', 'old name.txt', 'new näme.txt']);
    commitFiles(work, { 'a.txt': 'two\n', 'b.bin': Buffer.from([0, 1, 255, 10, 0]), l: { link: 'a.txt' } }, 'One');
    commitFiles(work, { 'run.sh': { run: '#!/bin/sh\n' }, 'no-newline': 'x' }, '[skip] Two\n\nFrom here on.');
    const commit = take();
    const mailbox = await patchFor(store, { base, commit, title: 'A Task' });
    expect(readFileSync(mailbox, 'latin1').match(/^From [0-9a-f]{40} /gm)).toHaveLength(1);
    expect(applied(work, base, mailbox)).toBe(treeAt(work, commit));
    expect(await patchFor(store, { base, commit, title: 'A Task' })).toBe(mailbox);
  });

  it('is one patch per commit where messages and history allow it, and one for all where there is a merge', async () => {
    const { work, base, store, take } = await aStore();
    commitFiles(work, { 'b.txt': 'b\n' }, 'One');
    commitFiles(work, { 'c.txt': 'c\n' }, 'Two');
    const two = await patchFor(store, { base, commit: take(), title: 'A Task' });
    expect(readFileSync(two, 'latin1').match(/^Subject: /gm)).toHaveLength(2);
    plainGit(work, ['checkout', '-q', '-b', 'side', base]);
    commitFiles(work, { 'd.txt': 'd\n' }, 'Side');
    plainGit(work, ['checkout', '-q', 'main']);
    plainGit(work, ['merge', '-q', '--no-ff', '-m', 'Join', 'side']);
    const commit = take();
    const one = await patchFor(store, { base, commit, title: 'A Task\nof two' });
    expect(readFileSync(one, 'latin1')).toContain('Subject: [PATCH] A Task of two');
    expect(applied(work, base, one)).toBe(treeAt(work, commit));
  });

  it('lets no commit message bring in a patch of its own', async () => {
    const { work, base, store, take } = await aStore();
    const evil =
      '---\ndiff --git a/evil b/evil\nnew file mode 100644\n--- /dev/null\n+++ b/evil\n@@ -0,0 +1 @@\n+evil\n';
    commitFiles(work, { 'b.txt': 'b\n' }, `Good\n\n${evil}`);
    const commit = take();
    const mailbox = await patchFor(store, { base, commit, title: 'diff - of a Task' });
    expect(readFileSync(mailbox, 'latin1')).not.toContain('evil');
    expect(applied(work, base, mailbox)).toBe(treeAt(work, commit));
  });
});

describe('the diff of a history', () => {
  it('is text with renames, or numbers, or what fits, cut at the end of a line', async () => {
    const { work, base, store, take } = await aStore();
    commitFiles(work, { 'a.txt': 'two\n', 'b.bin': Buffer.from([0, 1, 2]) }, 'One');
    const commit = take();
    const whole = await showDiff(store, base, commit, { maxBytes: 10_000 });
    expect(whole.text).toContain('-one\n+two\n');
    expect([whole.truncated, whole.text.includes('Binary files')]).toEqual([false, true]);
    const part = await showDiff(store, base, commit, { maxBytes: 100 });
    expect([part.truncated, part.text.endsWith('\n'), part.text.length <= 100]).toEqual([true, true, true]);
    expect((await showDiff(store, base, commit, { maxBytes: 1_000, stat: true })).text).toMatch(/a\.txt \| +2 \+-/);
    expect((await showDiff(store, base, commit, { maxBytes: 1_000, paths: ['b.bin'] })).text).not.toContain('two');
    expect((await showDiff(store, base, commit, { maxBytes: 1_000, paths: [] })).text).toBe('');
  });

  it('names every path that a commit on the way touched, also one that was put back', async () => {
    const { work, base, store, take } = await aStore();
    commitFiles(work, { 'a.txt': 'two\n', '.github/workflows/x.yml': 'on: push\n' }, 'One');
    plainGit(work, ['rm', '-q', '-r', '.github']);
    plainGit(work, ['commit', '-q', '-m', 'Two']);
    const commit = take();
    const paths = ['.github/workflows/x.yml'];
    expect(await touchedPaths(store, base, commit)).toEqual([...paths, 'a.txt']);
    const shown = await showHistory(store, base, commit, { paths, maxBytes: 10_000 });
    expect([shown.truncated, shown.commits]).toEqual([false, 2]);
    expect(shown.text).toMatch(/\+on: push.*-on: push/s);
    expect(shown.text).not.toMatch(/two|One/);
    expect(await showHistory(store, base, commit, { paths, maxBytes: 100 })).toMatchObject({ truncated: true });
  });

  it('shows what stands on a side line that a merge threw away', async () => {
    const { work, base, store, take } = await aStore();
    plainGit(work, ['checkout', '-q', '-b', 'side']);
    commitFiles(work, { '.travis.yml': 'script: evil\n' }, 'Side');
    plainGit(work, ['checkout', '-q', 'main']);
    commitFiles(work, { 'a.txt': 'two\n' }, 'Main');
    plainGit(work, ['merge', '-q', '-s', 'ours', '-m', 'Join', 'side']);
    const shown = await showHistory(store, base, take(), { paths: ['.travis.yml'], maxBytes: 10_000 });
    expect(shown.text).toContain('+script: evil');
  });
});

describe('a push of one branch', () => {
  async function anOrigin() {
    const made = await aStore();
    const origin = join(tempDir('origin'), 'app.git');
    plainGit(made.work, ['clone', '-q', '--bare', made.work, origin]);
    commitFiles(made.work, { 'a.txt': 'two\n' }, 'Mine');
    const commit = made.take();
    const branch = 'longshore/t_00000000';
    const push = (more: Partial<Push> = {}) =>
      withRemote({ protocol: 'file', path: origin }, tempDir('scratch'), (call) =>
        pushBranch(made.store, call, { commit, branch, expected: undefined, ...more }),
      );
    const at = (name = branch) => plainGit(origin, ['rev-parse', '--verify', '--quiet', `refs/heads/${name}`]);
    return { ...made, origin, commit, branch, push, at };
  }

  it('brings the commit there and nothing else, and the same again is the same', async () => {
    const { origin, commit, push, at, store } = await anOrigin();
    plainGit(store.dir, ['--git-dir=.', 'tag', 'v1', commit]);
    expect(await push()).toBe('pushed');
    expect(at()).toBe(commit);
    expect(await push({ expected: commit })).toBe('pushed');
    expect(plainGit(origin, ['for-each-ref', '--format=%(refname)']).split('\n')).toEqual([
      'refs/heads/longshore/t_00000000',
      'refs/heads/main',
    ]);
  });

  it('H39 leaves a branch alone that is not what was recorded, also where a force would do', async () => {
    const { work, origin, base, push, at, branch, commit } = await anOrigin();
    plainGit(work, ['push', '-q', origin, `${base}:refs/heads/${branch}`]);
    expect(await push()).toBe('moved');
    expect(at()).toBe(base);
    expect(await push({ expected: commit })).toBe('moved');
    expect(at()).toBe(base);
    expect(await push({ expected: base })).toBe('pushed');
    plainGit(work, ['checkout', '-q', '-b', 'again', base]);
    const other = commitFiles(work, { 'z.txt': 'z\n' }, 'Theirs');
    plainGit(work, ['push', '-q', '--force', origin, `${other}:refs/heads/${branch}`]);
    expect(await push({ expected: commit })).toBe('moved');
    expect(at()).toBe(other);
  });

  it('tells an origin that declines the branch from one that can not be reached, without its words', async () => {
    const { origin, push } = await anOrigin();
    writeFileSync(join(origin, 'hooks', 'pre-receive'), '#!/bin/sh\necho "secret words" >&2\nexit 1\n', {
      mode: 0o755,
    });
    const declined = await push().catch((error: unknown) => error);
    expect(declined).toMatchObject({ code: 'conflict', detail: expect.stringContaining('declines') });
    expect(JSON.stringify(declined)).not.toContain('secret words');
    const { push: elsewhere, origin: gone } = await anOrigin();
    rmSync(gone, { recursive: true });
    await expect(elsewhere()).rejects.toMatchObject({ code: 'source_unavailable' });
  });
});
