import { existsSync, lstatSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { agent, aRound } from '../../../test/support/git-round.js';
import { commitFiles, filesAt, plainGit, read, writeFiles } from '../../../test/support/repositories.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { bundleFor } from './bundle-for.js';
import { cloneWorkspace } from './clone-workspace.js';
import { intakePack } from './intake-pack.js';

jest.setTimeout(60_000);

describe('a workspace', () => {
  it('H19 stands alone: no remote, no alternate, no file shared with our GIT_DIR', async () => {
    const round = await aRound({ 'a.txt': 'a\n', 'run.sh': { run: '#!/bin/sh\n' }, link: { link: 'a.txt' } });
    const { dir, gitDir, base } = await round.workspace();
    expect(plainGit(dir, ['remote'])).toBe('');
    expect(plainGit(dir, ['symbolic-ref', 'HEAD'])).toBe('refs/heads/longshore/member');
    expect(plainGit(dir, ['rev-parse', 'HEAD'])).toBe(base);
    expect(plainGit(dir, ['status', '--porcelain'])).toBe('');
    plainGit(dir, ['fsck', '--full']);
    for (const repository of [join(dir, '.git'), gitDir, round.store.dir]) {
      const names = await readdir(join(repository, 'objects'), { recursive: true });
      expect(names.filter((name) => name.includes('alternates'))).toEqual([]);
    }
    const inodes = (folder: string) => readdirSync(folder).map((name) => statSync(join(folder, name)).ino);
    const ours = new Set(inodes(join(gitDir, 'objects/pack')));
    expect(inodes(join(dir, '.git/objects/pack')).some((inode) => ours.has(inode))).toBe(false);
    expect(existsSync(join(dir, '.git/hooks'))).toBe(false);
  });

  it('lets the agent work in it: its commits have a name, the task directory is not in its way', async () => {
    const { dir } = await (await aRound()).workspace();
    writeFiles(dir, { '.longshore/t_1/manifest.md': 'ours', 'a.txt': 'a' });
    expect(plainGit(dir, ['status', '--porcelain'])).toBe('?? a.txt');
    expect(plainGit(dir, ['config', 'user.email'])).toBe(agent.email);
  });

  it('is laid in again: base as new, ignored files stay, untouched files keep their times, a fresh .git', async () => {
    const round = await aRound({
      '.gitignore': 'node_modules/\n',
      'a.txt': 'a\n',
      'same.txt': 'same\n',
      'gone.txt': 'gone\n',
      'dir/x': 'x',
    });
    const first = await round.workspace();
    writeFiles(first.dir, { 'a.txt': 'from the first\n', 'new.txt': 'new\n' });
    const pack = await first.pack();
    await intakePack(round.store, { pack: pack.path, base: round.base, commit: pack.commit });

    const { dir, gitDir } = await round.workspace();
    const outside = tempDir('outside');
    writeFiles(outside, { x: 'must stay' });
    const times = lstatSync(join(dir, 'same.txt')).mtimeMs;
    commitFiles(dir, { 'a.txt': 'agent\n' }, 'Agent');
    plainGit(dir, ['rm', '-q', '-r', 'gone.txt', 'dir']);
    writeFiles(dir, {
      'junk/deep.txt': 'junk',
      'node_modules/dep/index.js': 'warm',
      'nested/file': 'x',
      dir: { link: outside },
      '.git/hooks/post-checkout': { run: '#!/bin/sh\ntouch sprung\n' },
    });
    plainGit(join(dir, 'nested'), ['init', '-q']);
    const bundle = await bundleFor(round.store, pack.commit, { have: [round.base] });
    await cloneWorkspace({ bundle, base: pack.commit, dir, gitDir, name: 'next', author: agent });

    expect(plainGit(dir, ['status', '--porcelain'])).toBe('');
    expect(plainGit(dir, ['rev-parse', 'HEAD'])).toBe(pack.commit);
    expect(plainGit(dir, ['branch', '--format=%(refname:short)'])).toBe('longshore/next');
    expect(read(join(dir, 'a.txt'))).toBe('from the first\n');
    expect(read(join(dir, 'dir/x'))).toBe('x');
    expect(read(join(outside, 'x'))).toBe('must stay');
    expect(read(join(dir, 'node_modules/dep/index.js'))).toBe('warm');
    expect(lstatSync(join(dir, 'same.txt')).mtimeMs).toBe(times);
    for (const name of ['junk/deep.txt', 'nested/file', 'nested/.git', '.git/hooks', 'sprung'])
      expect(existsSync(join(dir, name))).toBe(false);
    plainGit(dir, ['fsck', '--full']);
  });

  it('keeps the bytes of the repository, whatever its attributes say', async () => {
    const encoded = Buffer.from('\ufeffplain', 'utf16le');
    const round = await aRound({
      '.gitattributes': '*.txt text eol=crlf\n*.u16 working-tree-encoding=UTF-16\n',
      'a.txt': 'one\r\n',
      'b.u16': encoded,
    });
    const { dir } = await round.workspace();
    expect(read(join(dir, 'a.txt'))).toBe('one\n');
    expect(read(join(dir, 'b.u16'))).toBe('plain');
    expect(plainGit(dir, ['status', '--porcelain'])).toBe('');
  });

  it('is refused a bundle of something else, and a damaged one', async () => {
    const round = await aRound();
    const other = await bundleFor(round.store, round.base);
    const folder = tempDir();
    const wanted = { dir: join(folder, 'tree'), gitDir: join(folder, 'own.git'), name: 'x', author: agent };
    const base = '1234567890123456789012345678901234567890';
    await expect(cloneWorkspace({ ...wanted, bundle: other, base })).rejects.toMatchObject({ code: 'source_refused' });
    const cut = join(folder, 'cut.bundle');
    writeFileSync(cut, read(other).slice(0, 120), 'latin1');
    await expect(cloneWorkspace({ ...wanted, bundle: cut, base: round.base })).rejects.toMatchObject({
      code: 'source_refused',
    });
    const inside = { ...wanted, gitDir: join(wanted.dir, 'own.git') };
    await expect(cloneWorkspace({ ...inside, bundle: other, base: round.base })).rejects.toMatchObject({
      code: 'internal',
    });
  });
});

describe('a bundle', () => {
  it('is a file that stays as it is, whole or over what the worker has', async () => {
    const round = await aRound({ 'a.txt': 'a\n'.repeat(5000) });
    const workspace = await round.workspace();
    writeFiles(workspace.dir, { 'b.txt': 'b' });
    const pack = await workspace.pack();
    await intakePack(round.store, { pack: pack.path, base: round.base, commit: pack.commit });
    const gone = '1234567890123456789012345678901234567890';
    const [whole, again, part] = [
      await bundleFor(round.store, pack.commit),
      await bundleFor(round.store, pack.commit, { have: [gone, pack.commit] }),
      await bundleFor(round.store, pack.commit, { have: [round.base] }),
    ];
    expect(again).toBe(whole);
    expect(part).not.toBe(whole);
    expect(statSync(part).size).toBeLessThan(statSync(whole).size);
    const clone = join(tempDir(), 'clone');
    plainGit('/', ['init', '-q', clone]);
    plainGit(clone, ['fetch', '-q', whole, 'refs/longshore/base']);
    expect(Object.keys(filesAt(clone, 'FETCH_HEAD'))).toEqual(['a.txt', 'b.txt']);
    plainGit(clone, ['bundle', 'verify', part]);
    await expect(bundleFor(round.store, gone)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('goes when nobody asked for it in a day, and is made again', async () => {
    const round = await aRound();
    const bundle = await bundleFor(round.store, round.base);
    utimesSync(bundle, 1, 1);
    const child = plainGit(round.store.dir, ['commit-tree', `${round.base}^{tree}`, '-p', round.base, '-m', 'x']);
    const other = await bundleFor(round.store, child);
    expect([existsSync(bundle), existsSync(other)]).toEqual([false, true]);
    expect(existsSync(await bundleFor(round.store, round.base))).toBe(true);
  });
});
