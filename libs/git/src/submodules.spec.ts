import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { agent, when } from '../../../test/support/git-round.js';
import { aRepository, commitFiles, filesAt, plainGit, read, writeFiles } from '../../../test/support/repositories.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { bundleCheckout } from './bundle-checkout.js';
import { bundleFor } from './bundle-for.js';
import { captureWorkspace } from './capture-workspace.js';
import { cloneWorkspace } from './clone-workspace.js';
import { importBundle } from './import-bundle.js';
import { intakePack } from './intake-pack.js';
import { packFor } from './pack-for.js';
import { openStore } from './store.js';
import { changedSubmodules, pinnedSubmodules, pinSubmodules } from './submodules.js';
import { gitDirFrom, keepBase } from './workspace-layers.js';

jest.setTimeout(60_000);

describe('submodules of a base', () => {
  it('H2, H19 lie in a workspace with a fresh .git each that stands alone, and status is clean in all of them', async () => {
    const farm = await aFarm();
    const { dir } = await farm.workspace();
    for (const [path, commit] of [
      ['', farm.base],
      ['libs/outer', farm.outer],
      ['libs/outer/deep/inner', farm.inner],
    ] as const) {
      const folder = join(dir, path);
      expect(plainGit(folder, ['rev-parse', '--show-toplevel'])).toBe(folder);
      expect(plainGit(folder, ['rev-parse', 'HEAD'])).toBe(commit);
      expect(plainGit(folder, ['status', '--porcelain', '--ignored'])).toBe('');
      expect(plainGit(folder, ['remote'])).toBe('');
      plainGit(folder, ['fsck', '--full', '--connectivity-only']);
      expect(existsSync(join(folder, '.git/hooks'))).toBe(false);
      expect(readdirSync(join(folder, '.git/objects'), { recursive: true }).join()).not.toContain('alternates');
    }
    expect(read(join(dir, 'libs/outer/deep/inner/inner.txt'))).toBe('inner\n');
    // its own history and no more
    expect(plainGit(join(dir, 'libs/outer'), ['log', '--format=%s'])).toBe('Link inner\nBegin');
    expect(() => plainGit(join(dir, 'libs/outer'), ['cat-file', '-e', farm.base])).toThrow();
  });

  it('stay links while nobody changes them, whatever their .git says', async () => {
    const farm = await aFarm();
    const { dir, capture } = await farm.workspace();
    expect(await capture()).toMatchObject({ kind: 'no_changes', nested: [] });
    rmSync(join(dir, 'libs/outer/.git'), { recursive: true });
    writeFiles(dir, { 'a.txt': 'changed\n' });
    const captured = await capture();
    expect(captured).toMatchObject({ kind: 'captured', files: [{ path: 'a.txt' }], total: 1, nested: [] });
    const commit = 'commit' in captured ? captured.commit : '';
    expect(filesAt(farm.gitDirOf(dir), commit)['libs/outer']).toBe(`160000 commit ${farm.outer}`);
  });

  it('H2 sees a change that an index, a flag or a filter of the submodule hides, and runs nothing of it', async () => {
    const farm = await aFarm();
    const { dir, capture } = await farm.workspace();
    const outer = join(dir, 'libs/outer');
    const sprung = join(tempDir(), 'sprung');
    const trap = `touch ${sprung}`;
    writeFiles(outer, { 'outer.txt': 'new\n', '.git/hooks/post-index-change': { run: `#!/bin/sh\n${trap}\n` } });
    plainGit(outer, ['update-index', '--assume-unchanged', 'outer.txt']);
    for (const key of ['core.fsmonitor', 'filter.x.clean', 'filter.x.process']) plainGit(outer, ['config', key, trap]);
    writeFiles(outer, { '.gitattributes': '* filter=x\n' });
    rmSync(sprung, { force: true });
    expect(await capture()).toMatchObject({ kind: 'captured' });
    expect(existsSync(sprung)).toBe(false);
    const again = await farm.workspace();
    expect(plainGit(join(again.dir, 'libs/outer'), ['config', '--local', '--list'])).not.toContain('fsmonitor');
  });

  it('lose nothing: a changed one comes to the farm as its files in place of the link, with its own commits', async () => {
    const farm = await aFarm();
    const { dir, gitDir, capture } = await farm.workspace();
    const outer = join(dir, 'libs/outer');
    const own = commitFiles(outer, { 'outer.txt': 'mended\n' }, 'Mend');
    writeFiles(outer, { 'new.txt': 'new\n', 'kept.log': 'ignored, and in the index\n', 'left.log': 'ignored\n' });
    plainGit(outer, ['add', '-f', 'kept.log']);
    const captured = await capture();
    if (captured.kind !== 'captured') throw new Error('nothing was captured');
    const { commit, nested, known } = captured;
    expect(nested).toEqual([{ path: 'libs/outer', head: own }]);
    expect(known).toEqual(expect.arrayContaining([farm.outer, farm.inner]));
    const out = join(tempDir(), 'up.pack');
    const pack = await packFor({ gitDir, commit, base: farm.base, extra: [own], known, out });
    await intakePack(farm.store, { pack: pack.path, base: farm.base, commit, extra: [own] });
    const files = filesAt(farm.store.dir, commit);
    expect(Object.keys(files).sort()).toEqual([
      '.gitmodules',
      'a.txt',
      'libs/outer/.gitignore',
      'libs/outer/.gitmodules',
      'libs/outer/deep/inner',
      'libs/outer/kept.log',
      'libs/outer/new.txt',
      'libs/outer/outer.txt',
    ]);
    expect(plainGit(farm.store.dir, ['show', `${commit}:libs/outer/outer.txt`])).toBe('mended');
    expect(await changedSubmodules(farm.store, farm.base, commit)).toEqual([{ path: 'libs/outer', now: 'files' }]);

    // the next member goes on from there: files where they were, the inner one a submodule still
    const next = await farm.workspace(commit);
    expect(plainGit(next.dir, ['status', '--porcelain'])).toBe('');
    expect(read(join(next.dir, 'libs/outer/outer.txt'))).toBe('mended\n');
    expect(existsSync(join(next.dir, 'libs/outer/.git'))).toBe(false);
    expect(plainGit(join(next.dir, 'libs/outer/deep/inner'), ['rev-parse', 'HEAD'])).toBe(farm.inner);
    expect(await next.capture()).toMatchObject({ kind: 'no_changes' });
  });

  it('change from the inside: files of the inner one take its place and that of the outer', async () => {
    const farm = await aFarm();
    const { dir, gitDir, capture } = await farm.workspace();
    writeFileSync(join(dir, 'libs/outer/deep/inner/inner.txt'), 'changed\n');
    const captured = await capture();
    const files = filesAt(gitDir, 'commit' in captured ? captured.commit : '');
    expect(files['libs/outer/deep/inner/inner.txt']).toMatch(/^100644 blob/);
    expect(files['libs/outer/outer.txt']).toMatch(/^100644 blob/);
    expect(captured.nested.map(({ path }) => path).sort()).toEqual(['libs/outer', 'libs/outer/deep/inner']);
  });

  it('are laid in again: changes go, ignored files stay, and what took the place of a folder goes', async () => {
    const farm = await aFarm();
    const { dir, lay } = await farm.workspace();
    writeFiles(dir, { 'libs/outer/outer.txt': 'changed\n', 'libs/outer/x.log': 'ignored\n', 'libs/outer/junk': 'x' });
    rmSync(join(dir, 'libs/outer/deep/inner'), { recursive: true });
    writeFiles(dir, { 'libs/outer/deep/inner': { link: '/tmp' } });
    await lay();
    for (const path of ['', 'libs/outer', 'libs/outer/deep/inner'])
      expect(plainGit(join(dir, path), ['status', '--porcelain'])).toBe('');
    expect(read(join(dir, 'libs/outer/outer.txt'))).toBe('outer\n');
    expect(read(join(dir, 'libs/outer/x.log'))).toBe('ignored\n');
    expect(read(join(dir, 'libs/outer/deep/inner/inner.txt'))).toBe('inner\n');
  });

  it('are not there without a pin, and a folder that was emptied is the link that it was', async () => {
    const farm = await aFarm();
    const { dir, capture } = await farm.workspace();
    rmSync(join(dir, 'libs/outer'), { recursive: true });
    mkdirSync(join(dir, 'libs/outer'));
    expect(await capture()).toMatchObject({ kind: 'no_changes' });
    const pin = await pinnedSubmodules(farm.store);
    expect(await pinSubmodules(farm.store, [farm.inner, farm.outer, farm.inner])).toBe(pin);
    expect(await pinSubmodules(farm.store, [])).toBeUndefined();
    const bare = await farm.workspace();
    expect(readdirSync(join(bare.dir, 'libs/outer'))).toEqual([]);
    expect(await bare.capture()).toMatchObject({ kind: 'no_changes' });
  });
});

/** A store whose base has a submodule with one of its own. */
async function aFarm() {
  const inner = aRepository({ 'inner.txt': 'inner\n' });
  const innerAt = plainGit(inner, ['rev-parse', 'HEAD']);
  const outer = aRepository({ 'outer.txt': 'outer\n', '.gitignore': '*.log\n' });
  const outerAt = link(outer, 'deep/inner', innerAt, 'Link inner');
  const top = aRepository({ 'a.txt': 'a\n' });
  const base = link(top, 'libs/outer', outerAt, 'Link outer');
  const store = await openStore(join(tempDir('store'), 'store.git'));
  for (const dir of [inner, outer, top]) {
    const { bundle } = await bundleCheckout({ dir, out: join(tempDir(), 'source.bundle') });
    await importBundle(store, bundle);
  }
  await pinSubmodules(store, [outerAt, innerAt]);
  const gitDirOf = (dir: string): string => join(dir, '../own.git');
  return { store, base, outer: outerAt, inner: innerAt, gitDirOf, workspace: (at = base) => aWorkspace(store.dir, at) };
}

function link(dir: string, path: string, commit: string, message: string): string {
  writeFiles(dir, { '.gitmodules': `[submodule "x"]\n\tpath = ${path}\n\turl = ../x\n` });
  plainGit(dir, ['add', '.gitmodules']);
  plainGit(dir, ['update-index', '--add', '--cacheinfo', `160000,${commit},${path}`]);
  plainGit(dir, ['commit', '-q', '-m', message]);
  // as in a clone without its submodules
  mkdirSync(join(dir, path), { recursive: true });
  return plainGit(dir, ['rev-parse', 'HEAD']);
}

async function aWorkspace(store: string, base: string) {
  const folder = tempDir('workspace');
  const [dir, gitDir] = [join(folder, 'tree'), join(folder, 'own.git')];
  const bundle = () => bundleFor({ dir: store }, base, { submodules: true });
  const [layer, modules, baseDir] = ['layer', 'modules', 'base.git'].map((name) => join(folder, name));
  if (layer === undefined || modules === undefined || baseDir === undefined) throw new Error('no folders');
  await keepBase({ bundle, base, gitDir: baseDir, layer, modules });
  await gitDirFrom(baseDir, gitDir);
  const lay = () => cloneWorkspace({ bundle, base, dir, gitDir, name: 'member', author: agent, modules });
  await lay();
  return {
    dir,
    gitDir,
    lay,
    capture: () => captureWorkspace({ dir, gitDir, base, message: 'Work', author: agent, when }),
  };
}
