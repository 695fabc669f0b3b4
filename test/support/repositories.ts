import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tempDir } from './temp-dir.js';

/** git as a user or an agent runs it: with the configuration of the repository that it stands in. */
export function plainGit(dir: string, args: readonly string[], input?: string | Buffer): string {
  return plainGitBytes(dir, args, input).toString().trim();
}

export function plainGitBytes(dir: string, args: readonly string[], input?: string | Buffer): Buffer {
  return execFileSync('git', args, {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: dir, GIT_CONFIG_NOSYSTEM: '1', ...identity },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
    ...(input === undefined ? {} : { input }),
  });
}

const identity = {
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.test',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.test',
};

export type Content = string | Buffer | { readonly link: string } | { readonly run: string };

export function writeFiles(dir: string, files: Readonly<Record<string, Content>>): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(dir, path);
    mkdirSync(dirname(file), { recursive: true });
    if (typeof content === 'string' || Buffer.isBuffer(content)) writeFileSync(file, content);
    else if ('link' in content) symlinkSync(content.link, file);
    else {
      writeFileSync(file, content.run);
      chmodSync(file, 0o755);
    }
  }
}

/** A checkout with one commit of these files. */
export function aRepository(files: Readonly<Record<string, Content>> = { 'readme.md': 'hello\n' }): string {
  const dir = tempDir('repository');
  plainGit(dir, ['init', '-q', '-b', 'main']);
  commitFiles(dir, files, 'Begin');
  return dir;
}

const bundles = new Map<string, string>();

/** A bundle of one commit of these files, made once for all tests of a file that ask for the same. */
export function aBundle(files: Readonly<Record<string, Content>>): string {
  const key = JSON.stringify(files);
  const bundle = bundles.get(key) ?? bundleOf(aRepository(files));
  bundles.set(key, bundle);
  return bundle;
}

/** What is committed in a checkout. */
export function bundleOf(dir: string): string {
  const bundle = join(tempDir('bundle'), 'source.bundle');
  plainGit(dir, ['bundle', 'create', '-q', bundle, 'HEAD']);
  return bundle;
}

/** Commits all there is in a checkout; answers the id. */
export function commitFiles(dir: string, files: Readonly<Record<string, Content>>, message: string): string {
  writeFiles(dir, files);
  plainGit(dir, ['add', '-A', '-f']);
  plainGit(dir, ['commit', '-q', '--allow-empty', '-m', message]);
  return plainGit(dir, ['rev-parse', 'HEAD']);
}

/** Mode, id and path of every file of a commit, by path. */
export function filesAt(dir: string, commit: string): Readonly<Record<string, string>> {
  const lines = plainGitBytes(dir, ['ls-tree', '-r', '-z', commit]).toString('latin1').split('\0').filter(Boolean);
  return Object.fromEntries(lines.map((line) => line.split('\t').reverse()));
}

export const read = (path: string): string => readFileSync(path, 'utf8');
