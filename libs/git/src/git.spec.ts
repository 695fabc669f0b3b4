import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it, jest } from '@jest/globals';
import { aRound } from '../../../test/support/git-round.js';
import { aRepository, plainGit, writeFiles } from '../../../test/support/repositories.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { diffStat } from './diff-stat.js';
import { git, gitToFile } from './git.js';
import { intakePack } from './intake-pack.js';
import { readFileAt, treeHas } from './read-tree.js';
import { checkGitVersion, requireGit } from './require-git.js';
import { emptyBase, openStore } from './store.js';

jest.setTimeout(60_000);

describe('git', () => {
  it('H31 sees nothing of the environment that it runs in', async () => {
    const planted = {
      GIT_DIR: '/nowhere',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'alias.version',
      GIT_CONFIG_VALUE_0: '!false',
      SECRET_TOKEN: 'canary',
      GIT_TRACE: '2',
    };
    Object.assign(process.env, planted);
    try {
      const seen = await git(['-c', 'alias.show-env=!env', 'show-env']);
      for (const word of ['/nowhere', 'canary', 'alias.version', 'GIT_TRACE=', 'HOME='])
        expect(seen.text).not.toContain(word);
      expect(seen.text).toContain('GIT_CONFIG_GLOBAL=/dev/null');
    } finally {
      for (const name of Object.keys(planted)) delete process.env[name];
    }
  });

  it('H31 ends at its limits of time and output, and reaches no other machine', async () => {
    const never = new Readable({ read: () => undefined });
    await expect(git(['hash-object', '--stdin'], { input: never, limits: { gitSeconds: 0.2 } })).rejects.toMatchObject({
      code: 'timeout',
    });
    const input = 'x'.repeat(5000);
    await expect(git(['stripspace'], { input, limits: { gitOutputBytes: 1000 } })).rejects.toMatchObject({
      code: 'too_large',
    });
    const path = join(tempDir(), 'out');
    await expect(gitToFile(['stripspace'], { input }, { path, maxBytes: 1000 })).rejects.toMatchObject({
      code: 'too_large',
    });
    const refused = await git(['ls-remote', aRepository()], { accept: 'any' });
    expect(refused.stderr).toContain("transport 'file' not allowed");
    const stopped = AbortSignal.abort();
    await expect(git(['version'], { signal: stopped })).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('names a fault by its command and never by what the caller said', async () => {
    const fault = await git(['rev-parse', '--verify', 'canary']).catch((caught: unknown) => caught);
    expect(fault).toMatchObject({ code: 'internal', detail: 'git rev-parse failed.' });
  });

  const full = tempDir('full');
  const mounted = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', full]).status === 0;
  (mounted ? it : it.skip)('says disk_full when the disk is full', async () => {
    const dir = aRepository();
    const path = join(tempDir(), 'git');
    mkdirSync(path);
    writeFiles(path, {
      git: {
        run: `#!/bin/sh\nexec unshare -rm sh -c 'mount -t tmpfs -o size=64k none "$0" && exec /usr/bin/env PATH=/usr/bin:/bin git "$@"' ${full} "$@"\n`,
      },
    });
    const was = process.env.PATH;
    process.env.PATH = `${path}:${was}`;
    try {
      const input = randomBytes(300_000);
      const call = { gitDir: join(dir, '.git'), input, env: { GIT_OBJECT_DIRECTORY: full } };
      await expect(git(['hash-object', '-w', '--stdin'], call)).rejects.toMatchObject({ code: 'disk_full' });
    } finally {
      process.env.PATH = was;
    }
  });

  it('is asked for in a version that can merge without a working tree, with the way out', async () => {
    expect(await requireGit()).toMatch(/^\d+\.\d+/);
    expect(checkGitVersion('git version 2.38.0')).toBe('2.38.0');
    expect(checkGitVersion('git version 3.0.1 (Apple Git-1)')).toBe('3.0.1');
    for (const answer of ['', 'git version 2.37.9', 'git version 1.99']) {
      expect(() => checkGitVersion(answer)).toThrow(
        expect.objectContaining({ code: 'misconfigured', hint: expect.stringContaining('Install git 2.38') }),
      );
    }
    const was = process.env.PATH;
    process.env.PATH = tempDir();
    try {
      await expect(requireGit()).rejects.toMatchObject({
        code: 'misconfigured',
        detail: 'git was not found on this machine.',
      });
    } finally {
      process.env.PATH = was;
    }
  });
});

describe('a store', () => {
  it('opens for several at once and begins an empty Task with the same commit everywhere', async () => {
    const folder = tempDir();
    const [one] = await Promise.all([1, 2, 3].map(() => openStore(join(folder, 'one'))));
    const other = await openStore(join(folder, 'other'));
    if (one === undefined) throw new Error('not opened');
    const base = await emptyBase(one);
    expect(await emptyBase(other)).toBe(base);
    expect(await diffStat(one, base, base)).toEqual({ files: [], total: 0, additions: 0, deletions: 0 });
  });

  it('says what stands at a path of a commit, and follows no symlink', async () => {
    const round = await aRound({
      'a.txt': 'content',
      'dir/run.sh': { run: 'x' },
      link: { link: 'a.txt' },
      linked: { link: 'dir' },
      'glob[1].*': 'g',
    });
    const kinds = {
      'a.txt': 'regular',
      'dir/run.sh': 'regular',
      dir: 'directory',
      link: 'symlink',
      linked: 'symlink',
      'glob[1].*': 'regular',
    };
    for (const [path, kind] of Object.entries(kinds))
      expect([path, await treeHas(round.store, round.base, path)]).toEqual([path, kind]);
    for (const path of [
      'linked/run.sh',
      '',
      'none',
      '../a.txt',
      '/a.txt',
      'dir/',
      'dir//run.sh',
      ':/a.txt',
      '*',
      'a\0b',
    ]) {
      expect([path, await treeHas(round.store, round.base, path)]).toEqual([path, 'missing']);
    }
    expect((await readFileAt(round.store, round.base, 'a.txt')).toString()).toBe('content');
    await expect(readFileAt(round.store, round.base, 'a.txt', 3)).rejects.toMatchObject({ code: 'too_large' });
    await expect(readFileAt(round.store, round.base, 'link')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('counts what changed between two commits', async () => {
    const round = await aRound({ 'a.txt': '1\n2\n', 'gone.txt': 'x\n', type: 'file' });
    const workspace = await round.workspace();
    plainGit(workspace.dir, ['rm', '-q', 'gone.txt', 'type']);
    writeFiles(workspace.dir, { 'a.txt': '1\n3\n4\n', 'bin\tary': Buffer.from([0, 1, 2]), type: { link: 'a.txt' } });
    writeFileSync(join(workspace.dir, 'ünï.txt'), 'u\n');
    const { commit, path } = await workspace.pack();
    await intakePack(round.store, { pack: path, base: round.base, commit });
    const stat = await diffStat(round.store, round.base, commit);
    expect(stat.files).toEqual([
      { path: 'a.txt', status: 'modified', additions: 2, deletions: 1, binary: false },
      { path: 'bin\tary', status: 'added', additions: 0, deletions: 0, binary: true },
      { path: 'gone.txt', status: 'deleted', additions: 0, deletions: 1, binary: false },
      { path: 'type', status: 'type_changed', additions: 1, deletions: 1, binary: false },
      { path: 'ünï.txt', status: 'added', additions: 1, deletions: 0, binary: false },
    ]);
    const bounded = await diffStat(round.store, round.base, commit, { most: 1 });
    expect(bounded).toMatchObject({ total: 5, additions: stat.additions });
    expect(bounded.files).toHaveLength(1);
  });
});
