import { createHash } from 'node:crypto';
import { constants, createReadStream, type Stats } from 'node:fs';
import { chmod, copyFile, lstat, rm } from 'node:fs/promises';
import { systemCodeOf } from '#contracts';
import { type BytePath, bytesOf, fromText, joinPaths } from './byte-path.js';
import { git } from './git.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import { type LfsPointer, lfsPointers } from './lfs-pointers.js';
import type { Oid } from './oid.js';
import type { TreeFiles } from './workspace-tree.js';

interface ContentsWanted {
  /** A folder in which the base was laid just now, and where nothing runs. */
  readonly dir: string;
  readonly gitDir: string;
  readonly base: Oid;
  /** Index of these files: git takes them for unchanged from here on, so that nobody commits them by accident. */
  readonly index: string;
  /** sha256 of the contents to lay; another pointer stays as it is. */
  readonly oids: ReadonlySet<string>;
  /** A file with that content, of this hash. */
  readonly fileOf: (pointer: LfsPointer) => Promise<string>;
  readonly limits?: Partial<GitLimits>;
}

/** Puts the contents of git-lfs in the place of their pointers, without git-lfs and without a filter (H2). */
export async function layLfsContents(wanted: ContentsWanted): Promise<void> {
  const { dir, gitDir, base, index, oids, fileOf } = wanted;
  const limits = gitLimits(wanted.limits);
  const pointers = (await lfsPointers(gitDir, base, limits)).filter(({ oid }) => oids.has(oid));
  for (const pointer of pointers) {
    const to = absolute(dir, pointer.path);
    await rm(to, { force: true });
    await copyOf(() => fileOf(pointer), to);
    await chmod(to, pointer.mode === '100755' ? 0o755 : 0o644);
  }
  if (pointers.length === 0) return;
  await git(['update-index', '--assume-unchanged', '-z', '--stdin'], {
    gitDir,
    workTree: dir,
    cwd: dir,
    limits,
    durable: false,
    env: { GIT_INDEX_FILE: index },
    input: joinPaths(pointers.map(({ path }) => path)),
  });
}

/** A cache may drop a file between its answer and the copy; it is asked again, twice. */
async function copyOf(fileOf: () => Promise<string>, to: Buffer): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await copyFile(await fileOf(), to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOENT' || tries === 2) throw error;
    }
  }
}

/** The base's pointers, where it may have some. */
export async function pointersOf(
  gitDir: string,
  base: Oid,
  { files }: TreeFiles,
  limits: GitLimits,
): Promise<readonly LfsPointer[]> {
  const mayHave = [...files.keys()].some((path) => path === '.gitattributes' || path.endsWith('/.gitattributes'));
  return mayHave ? lfsPointers(gitDir, base, limits) : [];
}

/** Sizes of the base's files as they lie in a workspace with the contents: those are nothing new. */
export function withSizesOf(
  files: ReadonlyMap<BytePath, number>,
  pointers: readonly LfsPointer[],
): ReadonlyMap<BytePath, number> {
  return pointers.length === 0
    ? files
    : new Map([...files, ...pointers.map(({ path, size }) => [path, size] as const)]);
}

type Stays = Pick<LfsPointer, 'path' | 'mode' | 'blob'>;

/**
 * Which files of git-lfs still have the content that their pointer names, read whole: those stay the pointers that they were. It
 * needs no note of what was laid, so that salvage does the same. `changed` has neither that content nor the pointer.
 */
export async function comparePointers(
  dir: string,
  pointers: readonly LfsPointer[],
  taken: readonly BytePath[],
): Promise<{ readonly unchanged: readonly Stays[]; readonly changed: readonly BytePath[] }> {
  const unchanged: Stays[] = [];
  const changed: BytePath[] = [];
  const there = new Set(pointers.length === 0 ? [] : taken);
  for (const pointer of pointers) {
    const { path, blob, oid, size } = pointer;
    if (!there.has(path)) continue;
    const seen = await lstat(absolute(dir, path));
    if (!seen.isFile()) continue;
    const file = absolute(dir, path);
    if (seen.size === size && (await hashOf(file, 'sha256')) === oid)
      unchanged.push({ path, mode: modeOf(seen), blob });
    else if (!(await isPointer(file, seen, blob))) changed.push(path);
  }
  return { unchanged, changed };
}

const modeOf = (seen: Stats): string => ((seen.mode & 0o100) === 0 ? '100644' : '100755');

async function isPointer(file: Buffer, { size }: Stats, blob: Oid): Promise<boolean> {
  return size <= 1024 && (await hashOf(file, 'sha1', `blob ${size}\0`)) === blob;
}

async function hashOf(file: Buffer, algorithm: 'sha256' | 'sha1', head = ''): Promise<string> {
  const hash = createHash(algorithm).update(head);
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest('hex');
}

const absolute = (dir: string, path: BytePath): Buffer => bytesOf(`${fromText(dir)}/${path}`);
