import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { agent, aRound, roundOf, type Workspace, when } from '../../../test/support/git-round.js';
import {
  aRepository,
  commitFiles,
  filesAt,
  plainGit,
  plainGitBytes,
  writeFiles,
} from '../../../test/support/repositories.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import type { Capture } from './capture-workspace.js';
import { intakePack } from './intake-pack.js';

jest.setTimeout(60_000);

/** 1.1 GiB, sparse. */
const bytes = Math.floor(1.1 * 1024 ** 3);

type Captured = Extract<Capture, { kind: 'captured' }>;

async function captured(workspace: Workspace, more?: Parameters<Workspace['capture']>[0]): Promise<Captured> {
  const capture = await workspace.capture(more);
  if (capture.kind !== 'captured') throw new Error('nothing was captured');
  return capture;
}

/** What lies in a folder, read without git: mode and bytes of everything but `.git`. */
function onDisk(dir: string, below = ''): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(join(dir, below))) {
    if (name === '.git') continue;
    const path = below === '' ? name : `${below}/${name}`;
    const seen = lstatSync(join(dir, path));
    if (seen.isDirectory()) Object.assign(found, onDisk(dir, path));
    else if (seen.isSymbolicLink()) found[path] = `120000 ${readlinkSync(join(dir, path))}`;
    else found[path] = `${seen.mode & 0o100 ? '100755' : '100644'} ${readFileSync(join(dir, path), 'base64')}`;
  }
  return found;
}

/** The same, read from a commit. */
function inCommit(gitDir: string, commit: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(filesAt(gitDir, commit)).map(([path, line]) => {
      const [mode = '', , oid = ''] = line.split(' ');
      const blob = plainGitBytes(gitDir, ['cat-file', 'blob', oid]);
      return [path, `${mode} ${mode === '120000' ? blob.toString() : blob.toString('base64')}`];
    }),
  );
}

/** A script that leaves a mark when anyone runs it. */
function aTrap(): { readonly script: string; readonly sprung: () => boolean } {
  const dir = tempDir('trap');
  const mark = join(dir, 'mark');
  const script = join(dir, 'trap.sh');
  writeFileSync(script, `#!/bin/sh\ntouch ${mark}\ncat\n`);
  chmodSync(script, 0o755);
  return { script, sprung: () => existsSync(mark) };
}

describe('a capture', () => {
  it('W7 is the working tree exactly, whatever the agent committed, staged, left or deleted', async () => {
    const round = await aRound({
      'committed.txt': '1\n',
      'staged.txt': '1\n',
      'unstaged.txt': '1\n',
      'deleted.txt': '1\n',
      'deleted-staged.txt': '1\n',
      'script.sh': '#!/bin/sh\n',
      'becomes-link': 'file\n',
      'becomes-folder': 'file\n',
      'folder/becomes-file.txt': 'x\n',
      'crlf.txt': 'one\r\ntwo\r\n',
      '.gitattributes': '* text=auto eol=crlf\n*.id ident\n',
      'keyword.id': '$Id$\n',
    });
    const workspace = await round.workspace();
    const { dir } = workspace;
    expect(plainGit(dir, ['status', '--porcelain'])).toBe('');
    commitFiles(dir, { 'committed.txt': '2\n', 'made-by-commit.txt': 'new\n' }, 'My own words');
    writeFiles(dir, { 'staged.txt': '2\n', 'added.txt': 'added\n' });
    plainGit(dir, ['add', 'staged.txt', 'added.txt']);
    plainGit(dir, ['rm', '-q', 'deleted-staged.txt']);
    rmSync(join(dir, 'deleted.txt'));
    rmSync(join(dir, 'becomes-link'));
    rmSync(join(dir, 'becomes-folder'));
    rmSync(join(dir, 'folder'), { recursive: true });
    chmodSync(join(dir, 'script.sh'), 0o755);
    writeFiles(dir, {
      'unstaged.txt': 'lf\nand crlf\r\n',
      'untracked/deep/file': 'u',
      empty: '',
      'binary.bin': Buffer.from(Array.from({ length: 5000 }, (_, at) => (at * 7919) % 256)),
      'becomes-link': { link: '../outside' },
      'becomes-folder/inside': 'x',
      folder: 'now a file',
      ':(glob)odd*name': 'magic',
      'sp ace "quoted" \\ back\nline': 'odd',
      'keyword.id': '$Id: expanded $\n',
    });
    execFileSync('sh', ['-c', 'printf latin > "$(printf \'caf\\351\')"'], { cwd: dir });

    const capture = await captured(workspace);

    const latin = Object.keys(filesAt(workspace.gitDir, capture.commit)).filter((path) => path === 'caf\u00e9');
    expect(latin).toHaveLength(1);
    rmSync(Buffer.from(`${dir}/caf\u00e9`, 'latin1'));
    const { 'caf\u00e9': _, ...rest } = inCommit(workspace.gitDir, capture.commit);
    expect(rest).toEqual(onDisk(dir));
    expect(plainGit(workspace.gitDir, ['log', '-1', '--format=%P %an %at', capture.commit])).toBe(
      `${round.base} ${agent.name} ${when.getTime() / 1000}`,
    );
  });

  it('W7 sends the messages of the agent’s own commits along without making them parents', async () => {
    const round = await aRound();
    const workspace = await round.workspace();
    const own = commitFiles(workspace.dir, { 'a.txt': 'a' }, 'Words that are not lost');
    const capture = await captured(workspace);
    expect(capture.ownCommits).toBe(own);
    const pack = await workspace.pack();
    await intakePack(round.store, { pack: pack.path, base: round.base, commit: pack.commit, extra: [own] });
    expect(plainGit(round.store.dir, ['log', '-1', '--format=%s', own])).toBe('Words that are not lost');
  });

  it('H2 runs no hook, filter or fsmonitor that an agent planted, nor follows its configuration', async () => {
    const round = await aRound({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
    const workspace = await round.workspace();
    const { dir } = workspace;
    const trap = aTrap();
    const dotGit = join(dir, '.git');
    mkdirSync(join(dotGit, 'hooks'), { recursive: true });
    for (const hook of [
      'pre-commit',
      'post-index-change',
      'post-checkout',
      'reference-transaction',
      'post-commit',
      'fsmonitor-watchman',
    ]) {
      writeFiles(dotGit, { [`hooks/${hook}`]: { run: `#!/bin/sh\nexec ${trap.script} </dev/null\n` } });
    }
    writeFiles(dir, {
      '.gitattributes': '[attr]text filter=evil\n* filter=evil diff=evil working-tree-encoding=UTF-16 text\n',
      'a.txt': 'changed\n',
    });
    writeFileSync(
      join(dotGit, 'config'),
      `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ${trap.script}\n\thooksPath = ${dotGit}/hooks\n\tworktree = /etc\n\tpager = ${trap.script}\n` +
        `[filter "evil"]\n\tclean = ${trap.script}\n\tsmudge = ${trap.script}\n\tprocess = ${trap.script}\n\trequired = true\n` +
        `[diff "evil"]\n\ttextconv = ${trap.script}\n\tcommand = ${trap.script}\n[diff]\n\texternal = ${trap.script}\n[alias]\n\tadd = !${trap.script}\n`,
    );

    const capture = await captured(workspace);

    expect(trap.sprung()).toBe(false);
    expect(inCommit(workspace.gitDir, capture.commit)).toEqual(onDisk(dir));
  });

  it('H2 is not misled by a .git that is a file, a symlink, or gone', async () => {
    const elsewhere = aRepository({ 'other.txt': 'other' });
    const before = plainGit(elsewhere, ['rev-parse', 'HEAD']);
    for (const put of [
      (dotGit: string) => writeFileSync(dotGit, `gitdir: ${elsewhere}/.git\n`),
      (dotGit: string) => writeFiles(join(dotGit, '..'), { '.git': { link: join(elsewhere, '.git') } }),
      () => undefined,
    ]) {
      const workspace = await (await aRound()).workspace();
      rmSync(join(workspace.dir, '.git'), { recursive: true });
      put(join(workspace.dir, '.git'));
      writeFiles(workspace.dir, { 'work.txt': 'work' });
      const capture = await captured(workspace);
      expect(inCommit(workspace.gitDir, capture.commit)).toEqual(onDisk(workspace.dir));
      expect(capture.ownCommits).toBeUndefined();
    }
    expect(plainGit(elsewhere, ['rev-parse', 'HEAD'])).toBe(before);
    expect(plainGit(elsewhere, ['status', '--porcelain'])).toBe('');
  });

  it('H2 sees edits that the agent’s index, file times or exclude file would hide', async () => {
    const round = await aRound({ 'assumed.txt': '1\n', 'skipped.txt': '1\n', 'timed.txt': '1\n' });
    const workspace = await round.workspace();
    const { dir } = workspace;
    plainGit(dir, ['update-index', '--assume-unchanged', 'assumed.txt']);
    plainGit(dir, ['update-index', '--skip-worktree', 'skipped.txt']);
    const times = lstatSync(join(dir, 'timed.txt'));
    writeFiles(dir, {
      'assumed.txt': '2\n',
      'skipped.txt': '2\n',
      'timed.txt': '2\n',
      'hidden.txt': 'x',
      '.git/info/exclude': '*\n',
    });
    execFileSync('touch', ['-d', times.mtime.toISOString(), join(dir, 'timed.txt')]);
    const capture = await captured(workspace);
    expect(inCommit(workspace.gitDir, capture.commit)).toEqual(onDisk(dir));
  });

  it('H2 loses nothing of nested repositories, with commits or without', async () => {
    const workspace = await (await aRound()).workspace();
    const { dir } = workspace;
    writeFiles(dir, { 'fresh/file.txt': 'no commits here', 'made/file.txt': 'committed', 'made/deep/er.txt': 'x' });
    plainGit(join(dir, 'fresh'), ['init', '-q']);
    plainGit(join(dir, 'made'), ['init', '-q']);
    const head = commitFiles(join(dir, 'made'), {}, 'Nested words');
    writeFiles(dir, { 'made/later.txt': 'untracked there' });

    const capture = await captured(workspace);

    expect(inCommit(workspace.gitDir, capture.commit)).toEqual(onDisk(dir));
    expect(capture.nested).toEqual([{ path: 'fresh' }, { path: 'made', head }]);
    expect(plainGit(workspace.gitDir, ['log', '-1', '--format=%s', head])).toBe('Nested words');
  });

  it('H2 keeps the link of a submodule and captures what was put into its folder apart', async () => {
    const repository = aRepository();
    const link = '1234567890123456789012345678901234567890';
    plainGit(repository, ['update-index', '--add', '--cacheinfo', `160000,${link},sub`]);
    plainGit(repository, ['commit', '-q', '-m', 'Link']);
    mkdirSync(join(repository, 'sub'));
    const workspace = await (await roundOf(repository)).workspace();
    expect(await workspace.capture()).toMatchObject({ kind: 'no_changes' });
    writeFiles(workspace.dir, { 'sub/inside.txt': 'inside' });
    const capture = await captured(workspace);
    expect(filesAt(workspace.gitDir, capture.commit).sub).toBe(`160000 commit ${link}`);
    const [nested] = capture.nested;
    expect(Object.keys(filesAt(workspace.gitDir, nested?.content ?? ''))).toEqual(['inside.txt']);
  });

  it('H19 takes no own commits out of objects that the agent borrows', async () => {
    const secret = aRepository({ 'secret.txt': 'not yours' });
    const head = plainGit(secret, ['rev-parse', 'HEAD']);
    const borrow: ((dotGit: string) => void)[] = [
      (dotGit) => writeFiles(dotGit, { 'objects/info/alternates': `${secret}/.git/objects\n` }),
      (dotGit) => {
        rmSync(join(dotGit, 'objects'), { recursive: true });
        writeFiles(dotGit, { objects: { link: join(secret, '.git', 'objects') } });
      },
    ];
    for (const act of borrow) {
      const workspace = await (await aRound()).workspace();
      act(join(workspace.dir, '.git'));
      writeFiles(workspace.dir, { 'nested/x': 'x' });
      plainGit(join(workspace.dir, 'nested'), ['init', '-q', '-b', 'main']);
      act(join(workspace.dir, 'nested', '.git'));
      writeFiles(workspace.dir, {
        'nested/.git/refs/heads/main': `${head}\n`,
        '.git/refs/heads/longshore/member': `${head}\n`,
      });
      const capture = await captured(workspace);
      expect(capture.ownCommits).toBeUndefined();
      expect(capture.ownCommitsLeft).toBe('Its objects are not all its own.');
      expect(capture.nested).toEqual([{ path: 'nested', left: 'Its objects are not all its own.' }]);
      expect(() => plainGit(workspace.gitDir, ['cat-file', '-e', head])).toThrow();
    }
  });

  it('leaves own commits that do not pass fsck, and keeps their files', async () => {
    const workspace = await (await aRound()).workspace();
    const { dir, base } = workspace;
    const blob = plainGit(dir, ['hash-object', '-w', '--stdin'], 'x');
    const evil = Buffer.concat([Buffer.from('100644 .git\0'), Buffer.from(blob, 'hex')]);
    const tree = plainGit(dir, ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'], evil);
    const commit = plainGit(dir, ['commit-tree', tree, '-p', base, '-m', 'evil']);
    writeFiles(dir, { '.git/refs/heads/longshore/member': `${commit}\n`, 'work.txt': 'work' });
    const capture = await captured(workspace);
    expect(capture.ownCommitsLeft).toBe('A tree in the pack holds a .git.');
    expect(inCommit(workspace.gitDir, capture.commit)).toMatchObject(onDisk(dir));
    expect(() => plainGit(workspace.gitDir, ['cat-file', '-e', commit])).toThrow();
  });

  it('W16 refuses 1.1 GiB of untracked files by their sizes, before it reads a byte', async () => {
    const workspace = await (await aRound()).workspace();
    writeFiles(workspace.dir, { 'huge.bin': '' });
    truncateSync(join(workspace.dir, 'huge.bin'), bytes);
    const [before, objects] = [process.memoryUsage().rss, plainGit(workspace.gitDir, ['count-objects', '-v'])];
    await expect(workspace.capture()).rejects.toMatchObject({
      code: 'workspace_too_large',
      hint: expect.stringContaining('.gitignore'),
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 ** 2);
    expect(plainGit(workspace.gitDir, ['count-objects', '-v'])).toBe(objects);
  });

  it('W16 takes a large file that is ignored for no reason to refuse, and says how much stayed', async () => {
    const workspace = await (await aRound({ '.gitignore': 'cache/\n' })).workspace();
    writeFiles(workspace.dir, { 'cache/huge.bin': '', 'cache/small/one': '12345', 'a.txt': 'a' });
    truncateSync(join(workspace.dir, 'cache/huge.bin'), bytes);
    const capture = await captured(workspace);
    expect(capture.ignored).toEqual({ files: 2, bytes: bytes + 5, more: false });
    expect(capture.files.map(({ path }) => path)).toEqual(['a.txt']);
  });

  it('H20 takes named paths even when ignored, and names those that it could not take', async () => {
    const workspace = await (
      await aRound({ '.gitignore': 'dist/\n*.log\n', 'tracked.log': 'committed in spite of it' })
    ).workspace();
    const { dir } = workspace;
    writeFiles(dir, {
      'dist/report.md': 'deliverable',
      'dist/other.js': 'left',
      'dist/sub/deep.md': 'deliverable',
      'forced.log': 'added by force',
      '.longshore/t_1/artifacts/member/plot.svg': '<svg/>',
      '.longshore/t_1/manifest.md': 'ours',
      'tracked.log': 'changed',
      away: { link: '/etc' },
    });
    plainGit(dir, ['add', '-f', 'forced.log']);
    const include = [
      'dist/report.md',
      'dist/sub',
      '.longshore/t_1/artifacts',
      'dist/missing.md',
      'away/passwd',
      '../outside',
    ];
    const capture = await captured(workspace, { include });
    expect(capture.files.map(({ path }) => path)).toEqual([
      '.longshore/t_1/artifacts/member/plot.svg',
      'away',
      'dist/report.md',
      'dist/sub/deep.md',
      'forced.log',
      'tracked.log',
    ]);
    expect(capture.notCaptured).toEqual(['dist/missing.md', 'away/passwd', '../outside']);
    expect(capture.ignored).toMatchObject({ files: 1 });
  });

  it('H21 leaves out the task directory alone and follows no symlink, committed or planted', async () => {
    const outside = tempDir('outside');
    writeFiles(outside, { 'secret.txt': 'secret', 't_1/notes/x': 'secret' });
    const round = await aRound({
      linked: { link: outside },
      '.longshore/agents/a.md': 'content of the repository',
      'real/secret.txt': 'mine',
    });
    const workspace = await round.workspace();
    const { dir } = workspace;
    writeFiles(dir, {
      '.longshore/t_1/manifest.md': 'ours',
      '.longshore/agents/b.md': 'new',
      '.longshore/t_2/x': 'not this Task’s',
    });
    rmSync(join(dir, 'real'), { recursive: true });
    writeFiles(dir, { real: { link: outside } });
    const first = await captured(workspace);
    expect(first.files.map(({ path, status }) => `${status} ${path}`)).toEqual([
      'added .longshore/agents/b.md',
      'added .longshore/t_2/x',
      'added real',
      'deleted real/secret.txt',
    ]);
    rmSync(join(dir, '.longshore'), { recursive: true });
    writeFiles(dir, { '.longshore': { link: outside } });
    const second = await captured(workspace, { include: ['.longshore/t_1/notes/x'] });
    expect(filesAt(workspace.gitDir, second.commit)['.longshore']).toMatch(/^120000/);
    expect(second.notCaptured).toEqual(['.longshore/t_1/notes/x']);
  });

  it('D7 W20 is no commit when nothing changed', async () => {
    const workspace = await (await aRound({ 'a.txt': 'a\n', '.gitignore': 'dist\n' })).workspace();
    writeFiles(workspace.dir, { 'dist/x': '123', '.longshore/t_1/manifest.md': 'ours' });
    expect(await workspace.capture()).toEqual({
      kind: 'no_changes',
      nested: [],
      ignored: { files: 1, bytes: 3, more: false },
      skipped: [],
      notCaptured: [],
      lfsChanged: [],
    });
    writeFiles(workspace.dir, { 'a.txt': 'b\n' });
    plainGit(workspace.dir, ['commit', '-q', '-a', '-m', 'There']);
    writeFiles(workspace.dir, { 'a.txt': 'a\n' });
    plainGit(workspace.dir, ['commit', '-q', '-a', '-m', 'And back']);
    expect(await workspace.capture()).toMatchObject({ kind: 'no_changes' });
  });

  it('names what no tree can hold and takes the rest', async () => {
    const workspace = await (await aRound()).workspace();
    const { dir } = workspace;
    execFileSync('mkfifo', [join(dir, 'pipe')]);
    writeFiles(dir, { '.GIT/config': 'x', 'deep/git~1': 'x', 'fine.txt': 'x', '.gitx': 'fine too' });
    const capture = await captured(workspace);
    expect(capture.files.map(({ path }) => path)).toEqual(['.gitx', 'fine.txt']);
    expect([...capture.skipped].sort((a, b) => a.path.localeCompare(b.path))).toEqual([
      { path: '.GIT', reason: 'unsafe_name' },
      { path: 'deep/git~1', reason: 'unsafe_name' },
      { path: 'pipe', reason: 'fifo' },
    ]);
  });

  it.each([
    ['is gone', () => {}],
    ['is a file', (dir: string) => writeFileSync(dir, '')],
    ['leads elsewhere', (dir: string) => symlinkSync(tempDir('elsewhere'), dir)],
  ])('H2 takes no work tree that %s for one whose files were all deleted', async (_, put) => {
    const workspace = await (await aRound()).workspace();
    renameSync(workspace.dir, `${workspace.dir}.moved`);
    put(workspace.dir);
    await expect(workspace.capture()).rejects.toMatchObject({ code: 'capture_failed' });
  });

  it('H2 leaves nothing out that lies too deep to be read', async () => {
    const workspace = await (await aRound()).workspace();
    const nest = 'for n in $(seq 50); do mkdir $0; cd -P $0 || exit 1; done; echo lost > work';
    execFileSync('bash', ['-c', nest, 'd'.repeat(100)], { cwd: workspace.dir, stdio: 'ignore' });
    await expect(workspace.capture()).rejects.toMatchObject({ code: 'capture_failed' });
    execFileSync('rm', ['-rf', workspace.dir]);
  });

  it('reads files that the agent made unreadable, as an owner may', async () => {
    const workspace = await (await aRound()).workspace();
    writeFiles(workspace.dir, { 'locked/in/file.txt': 'x' });
    chmodSync(join(workspace.dir, 'locked/in/file.txt'), 0);
    chmodSync(join(workspace.dir, 'locked/in'), 0);
    const capture = await captured(workspace);
    expect(capture.files.map(({ path }) => path)).toEqual(['locked/in/file.txt']);
    expect(lstatSync(join(workspace.dir, 'locked/in')).mode & 0o500).toBe(0o500);
    expect(lstatSync(join(workspace.dir, 'locked/in/file.txt')).mode & 0o400).toBe(0o400);
  });

  it('is the same commit when it is made again', async () => {
    const workspace = await (await aRound()).workspace();
    writeFiles(workspace.dir, { 'a.txt': 'a' });
    const first = await captured(workspace);
    renameSync(join(workspace.dir, 'a.txt'), join(workspace.dir, 'b.txt'));
    renameSync(join(workspace.dir, 'b.txt'), join(workspace.dir, 'a.txt'));
    expect((await captured(workspace)).commit).toBe(first.commit);
  });
});
