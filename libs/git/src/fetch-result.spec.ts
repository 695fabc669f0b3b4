import { join } from 'node:path';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Round, roundOf } from '../../../test/support/git-round.js';
import { aRepository, commitFiles, plainGit, read, writeFiles } from '../../../test/support/repositories.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { bundleRef } from './bundle.js';
import { bundleFor } from './bundle-for.js';
import { fetchResult } from './fetch-result.js';
import { intakePack } from './intake-pack.js';

jest.setTimeout(60_000);

let origin: string;
let round: Round;
let bundle: string;
let commit: string;
beforeAll(async () => {
  origin = aRepository({ 'a.txt': 'a\n' });
  round = await roundOf(origin);
  const workspace = await round.workspace();
  writeFiles(workspace.dir, { 'a.txt': 'result\n', 'new.txt': 'new\n', '.gitattributes': '* filter=evil\n' });
  const pack = await workspace.pack();
  await intakePack(round.store, { pack: pack.path, base: round.base, commit: pack.commit });
  commit = pack.commit;
  bundle = await bundleFor(round.store, commit);
});

function checkout(): string {
  const dir = join(tempDir(), 'checkout');
  plainGit('/', ['clone', '-q', origin, dir]);
  return dir;
}

describe('task checkout', () => {
  it('D24 makes the branch and leaves the working tree, index and HEAD alone', async () => {
    const dir = checkout();
    writeFiles(dir, { 'a.txt': 'my unfinished work\n' });
    expect(await fetchResult({ dir, bundle, commit, branch: 'longshore/result' })).toEqual({
      branch: 'longshore/result',
      switched: false,
    });
    expect(plainGit(dir, ['rev-parse', 'longshore/result'])).toBe(commit);
    expect(plainGit(dir, ['symbolic-ref', '--short', 'HEAD'])).toBe('main');
    expect(plainGit(dir, ['status', '--porcelain'])).toBe('M a.txt');
    expect(read(join(dir, 'a.txt'))).toBe('my unfinished work\n');
    expect(await fetchResult({ dir, bundle, commit, branch: 'longshore/result' })).toMatchObject({ switched: false });
  });

  it('says where to go from a folder that is no repository, or one without the commit that the Task started from', async () => {
    const dir = checkout();
    await fetchResult({ dir, bundle, commit, branch: 'result' });
    plainGit(dir, ['update-ref', bundleRef, commit]);
    const sparing = join(tempDir('bundle'), 'result.bundle');
    plainGit(dir, ['bundle', 'create', '-q', sparing, `${round.base}..${bundleRef}`]);
    for (const elsewhere of [tempDir('nowhere'), aRepository({ 'other.txt': 'other\n' })]) {
      await expect(fetchResult({ dir: elsewhere, bundle: sparing, commit, branch: 'result' })).rejects.toMatchObject({
        code: 'source_refused',
        detail: expect.stringMatching(/no git repository|lacks the commit/),
        hint: expect.stringContaining('--into'),
      });
    }
  });

  it('D24 switches only on a clean working tree', async () => {
    const dir = checkout();
    writeFiles(dir, { 'a.txt': 'changed\n' });
    const wanted = { dir, bundle, commit, branch: 'result', switchTo: true };
    await expect(fetchResult(wanted)).rejects.toMatchObject({
      code: 'conflict',
      hint: expect.stringContaining('stash'),
    });
    expect(() => plainGit(dir, ['rev-parse', '--verify', '-q', 'result'])).toThrow();
    plainGit(dir, ['checkout', '-q', 'a.txt']);
    writeFiles(dir, { 'new.txt': 'mine, untracked' });
    await expect(fetchResult(wanted)).rejects.toMatchObject({
      code: 'conflict',
      hint: expect.stringContaining('git switch result'),
    });
    expect(read(join(dir, 'new.txt'))).toBe('mine, untracked');
    plainGit(dir, ['clean', '-q', '-f']);
    expect(await fetchResult(wanted)).toEqual({ branch: 'result', switched: true });
    expect(read(join(dir, 'a.txt'))).toBe('result\n');
  });

  it('D24 never overwrites another branch, nor moves one under a working tree', async () => {
    const dir = checkout();
    plainGit(dir, ['checkout', '-q', '-b', 'taken']);
    const theirs = commitFiles(dir, { 'b.txt': 'b' }, 'Theirs');
    plainGit(dir, ['checkout', '-q', 'main']);
    const main = plainGit(dir, ['rev-parse', 'main']);
    await expect(fetchResult({ dir, bundle, commit, branch: 'taken' })).rejects.toMatchObject({ code: 'conflict' });
    await expect(fetchResult({ dir, bundle, commit, branch: 'main' })).rejects.toMatchObject({ code: 'conflict' });
    expect(plainGit(dir, ['rev-parse', 'taken', 'main'])).toBe(`${theirs}\n${main}`);
    plainGit(dir, ['branch', 'longshore/t_0', 'main']);
    await fetchResult({ dir, bundle, commit, branch: 'longshore/t_0' });
    expect(plainGit(dir, ['rev-parse', 'longshore/t_0'])).toBe(commit);
  });

  it('D24 never moves a branch of the person, not even forward', async () => {
    const dir = checkout();
    const base = plainGit(dir, ['rev-parse', 'HEAD']);
    plainGit(dir, ['branch', 'mine']);
    await expect(fetchResult({ dir, bundle, commit, branch: 'mine' })).rejects.toMatchObject({ code: 'conflict' });
    expect(plainGit(dir, ['rev-parse', 'mine'])).toBe(base);
  });

  it('runs no hook that the result could have written', async () => {
    const dir = checkout();
    const mark = join(tempDir(), 'mark');
    writeFiles(dir, {
      '.git/hooks/post-checkout': { run: `#!/bin/sh\ntouch ${mark}\n` },
      '.git/hooks/reference-transaction': { run: `#!/bin/sh\ntouch ${mark}\n` },
    });
    await fetchResult({ dir, bundle, commit, branch: 'result', switchTo: true });
    expect(() => read(mark)).toThrow();
  });

  it('refuses what is no branch name and a bundle of something else', async () => {
    const dir = checkout();
    for (const branch of ['-f', 'a..b', '', '@{-1}', 'a b']) {
      await expect(fetchResult({ dir, bundle, commit, branch })).rejects.toMatchObject({ code: 'invalid_input' });
    }
    await expect(fetchResult({ dir, bundle, commit: round.base, branch: 'x' })).rejects.toMatchObject({
      code: 'source_refused',
    });
  });
});
