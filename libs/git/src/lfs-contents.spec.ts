import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { aRound, type Workspace } from '../../../test/support/git-round.js';
import { commitFiles, filesAt, plainGit, plainGitBytes, read, writeFiles } from '../../../test/support/repositories.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { layLfsContents } from './lfs-contents.js';
import { lfsPointers } from './lfs-pointers.js';

const store = tempDir('contents');
const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');

function pointerOf(content: string | Buffer): string {
  const oid = sha256(content);
  writeFileSync(join(store, oid), content);
  return `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${content.length}\n`;
}

const big = Buffer.alloc(300_000, 'big ');
const tool = '#!/bin/sh\necho tool\n';
const files = {
  '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n',
  'a.txt': 'a\n',
  'big.bin': pointerOf(big),
  'deep/größe "x".bin': pointerOf('deep'),
  'tool.bin': { run: pointerOf(tool) },
  'absent.bin': pointerOf('nobody has it'),
};
const here = new Set([sha256(big), sha256('deep'), sha256(tool)]);

async function aWorkspace(): Promise<Workspace> {
  const workspace = await (await aRound(files)).workspace();
  await lay(workspace);
  return workspace;
}

const lay = ({ dir, gitDir, base }: Workspace, more: Partial<Parameters<typeof layLfsContents>[0]> = {}) =>
  layLfsContents({
    dir,
    gitDir,
    base,
    index: join(dir, '.git', 'index'),
    oids: here,
    fileOf: async ({ oid }) => join(store, oid),
    ...more,
  });

describe('a workspace with the contents of git-lfs', () => {
  it('H2 holds them without git-lfs and without a filter, and its own git takes them for unchanged', async () => {
    const workspace = await (await aRound(files)).workspace();
    const mark = join(tempDir('trap'), 'mark');
    const trap = `sh -c 'touch ${mark}; cat'`;
    for (const dir of [join(workspace.dir, '.git'), workspace.gitDir])
      for (const what of ['clean', 'smudge', 'process']) plainGit(dir, ['config', `filter.lfs.${what}`, trap]);
    await lay(workspace);
    expect(read(join(workspace.dir, 'big.bin'))).toBe(big.toString());
    expect(read(join(workspace.dir, 'deep/größe "x".bin'))).toBe('deep');
    expect(read(join(workspace.dir, 'tool.bin'))).toBe(tool);
    expect(statSync(join(workspace.dir, 'tool.bin')).mode & 0o111).not.toBe(0);
    expect(read(join(workspace.dir, 'absent.bin'))).toBe(files['absent.bin']);
    expect(plainGit(workspace.dir, ['status', '--porcelain'])).toBe('');
    expect((await workspace.capture()).kind).toBe('no_changes');
    expect(existsSync(mark)).toBe(false);
  });

  it('asks again for a file that a cache dropped before it was copied', async () => {
    const workspace = await (await aRound(files)).workspace();
    const asked: string[] = [];
    await lay(workspace, {
      fileOf: async ({ oid }) => join(store, asked.push(oid) === 1 ? 'dropped' : oid),
    });
    expect(asked).toHaveLength(4);
    expect(read(join(workspace.dir, 'big.bin'))).toBe(big.toString());
  });
});

describe('the capture of such a workspace', () => {
  it('leaves unchanged ones the pointers that they were, whatever the agent did to git', async () => {
    const workspace = await aWorkspace();
    commitFiles(workspace.dir, { 'a.txt': 'other\n' }, 'My own');
    plainGit(workspace.dir, ['update-index', '--no-assume-unchanged', 'big.bin']);
    plainGit(workspace.dir, ['add', '-A']);
    const capture = await workspace.capture();
    expect(capture).toMatchObject({ kind: 'captured', files: [{ path: 'a.txt' }], total: 1, lfsChanged: [] });
    // nothing of 300,000 bytes is counted as new work
    expect((await workspace.capture({ limits: { workspaceBytes: 1_000 } })).kind).toBe('captured');
  });

  it('takes a changed one whole and names it, and a deleted, moved or newly executable one as it is', async () => {
    const workspace = await aWorkspace();
    const { dir, gitDir, base } = workspace;
    writeFiles(dir, { 'deep/größe "x".bin': 'peed' });
    renameSync(join(dir, 'tool.bin'), join(dir, 'moved.bin'));
    chmodSync(join(dir, 'big.bin'), 0o755);
    const capture = await workspace.capture();
    if (capture.kind !== 'captured') throw new Error('nothing was captured');
    expect(capture.lfsChanged).toEqual(['deep/größe "x".bin']);
    const [before, after] = [filesAt(gitDir, base), filesAt(gitDir, capture.commit)];
    expect(after['big.bin']).toBe(before['big.bin']?.replace('100644', '100755'));
    expect(after['absent.bin']).toBe(before['absent.bin']);
    expect(after['tool.bin']).toBeUndefined();
    const shown = (path: string) => plainGitBytes(gitDir, ['show', `${capture.commit}:${path}`]).toString();
    expect([shown('deep/größe "x".bin'), shown('moved.bin')]).toEqual(['peed', tool]);
  });

  it('names a pointer that was rewritten, and takes a folder or a link in its place as it is', async () => {
    const workspace = await aWorkspace();
    const { dir, gitDir } = workspace;
    writeFiles(dir, { 'absent.bin': pointerOf('something else') });
    plainGit(dir, ['rm', '-q', '-f', 'big.bin', 'tool.bin']);
    mkdirSync(join(dir, 'big.bin'));
    writeFiles(dir, { 'big.bin/inner.txt': 'x\n', 'tool.bin': { link: 'a.txt' } });
    const capture = await workspace.capture();
    if (capture.kind !== 'captured') throw new Error('nothing was captured');
    expect(capture.lfsChanged).toEqual(['absent.bin']);
    expect(filesAt(gitDir, capture.commit)).toMatchObject({
      'big.bin/inner.txt': expect.stringContaining('100644'),
      'tool.bin': expect.stringContaining('120000'),
    });
  });
});

describe('the pointers of a commit', () => {
  it('are files that begin as git-lfs writes them, where an attribute gives files to it', async () => {
    const pointer = pointerOf('x');
    const round = await aRound({
      'deep/.gitattributes': '*.bin filter=lfs\n',
      'one.bin': pointer,
      'late.txt': `# how a pointer looks:\n${pointer}`,
      'liar.txt': `${'f'.repeat(40)} blob 130\n${pointer}`,
      'link.bin': { link: pointer.replaceAll('\n', ' ') },
    });
    const gitDir = round.store.dir;
    expect(await lfsPointers(gitDir, round.base)).toEqual([
      { path: 'one.bin', mode: '100644', blob: expect.any(String), oid: sha256('x'), size: 1 },
    ]);
    const none = await aRound({ 'one.bin': pointer, '.gitattributes': '*.txt text\n' });
    expect(await lfsPointers(none.store.dir, none.base)).toEqual([]);
  });
});
