import { randomUUID } from 'node:crypto';
import { copyFile, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import { type BytePath, fromText, splitPaths, toText } from './byte-path.js';
import { captureSubmodules } from './capture-submodules.js';
import { type DiffStat, diffStat, type FileChange } from './diff-stat.js';
import { withFolder } from './folders.js';
import { diskFull, git } from './git.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import { comparePointers, pointersOf, withSizesOf } from './lfs-contents.js';
import { type Oid, requireOid } from './oid.js';
import { type OwnCommits, takeOwnCommits } from './own-commits.js';
import { type IgnoredContent, type SkipReason, scanWorkspace } from './scan-workspace.js';
import { commitTree, type Person, treeIfThere } from './store.js';
import { filesOfTree, indexIn, writeWorkspaceTree } from './workspace-tree.js';

export interface CaptureAsked {
  /** The workspace. Nothing may run in it any more. */
  readonly dir: string;
  /** Ours, beside the workspace; holds the base (see `cloneWorkspace`). */
  readonly gitDir: string;
  readonly base: Oid;
  /** `.longshore/t_…`, relative to the workspace: left out of the capture. */
  readonly taskDirectory?: string;
  /** Files and folders that are taken even when ignored or in the task directory (H20). */
  readonly include?: readonly string[];
  readonly message: string;
  readonly author: Person;
  readonly when: Date;
  readonly limits?: Partial<GitLimits>;
}

/** A repository inside the workspace. */
export interface NestedRepository {
  readonly path: string;
  /**
   * Its history, when it passed the checks: goes into the pack as an extra commit. Its files are not here: they are ordinary
   * files of the captured tree.
   */
  readonly head?: Oid;
  /** For a submodule that was not checked out, whose link stays as it is: a commit of the files found there, for the pack. */
  readonly content?: Oid;
  /** Why the history was left. */
  readonly left?: string;
}

export interface CaptureReport {
  readonly nested: readonly NestedRepository[];
  /** Ignored content that stayed behind. */
  readonly ignored: IgnoredContent;
  /** What no tree can hold; at most 100 are named. */
  readonly skipped: readonly { readonly path: string; readonly reason: SkipReason }[];
  /** Paths of `include` under which nothing was captured: missing, or reached through a symlink. */
  readonly notCaptured: readonly string[];
  /** Files of git-lfs that were changed: the commit holds them whole, and no pointer; at most 100 are named. */
  readonly lfsChanged: readonly string[];
}

export type Capture = CaptureReport &
  (
    | { readonly kind: 'no_changes' }
    | {
        readonly kind: 'captured';
        readonly commit: Oid;
        readonly tree: Oid;
        /** At most 1,000; `total` counts all. */
        readonly files: readonly FileChange[];
        readonly total: number;
        /** The agent's head, when it has commits of its own: an extra commit for the pack, never a parent. */
        readonly ownCommits?: Oid;
        /** Commits of submodules that came with the base: the controller has them. */
        readonly known: readonly Oid[];
        /** Why the agent's commits were left. Their files are in the capture all the same. */
        readonly ownCommitsLeft?: string;
      }
  );

/**
 * Captures a workspace as one commit on the base: what the agent committed, staged, left unstaged or untracked, deleted; modes,
 * symlinks and bytes as they lie there. It stands outside the agent's reach (H2): our GIT_DIR and a fresh index, none of the
 * agent's configuration, hooks, fsmonitor, filters, attributes or gitfile. Salvage is the same act.
 *
 * Nested repositories: their files are captured as ordinary files, so that a `git init` in a subfolder loses nothing on the
 * next machine; the history of each goes along as an extra commit. An unchanged submodule
 * stays the link that it was; a changed one becomes its files (see `captureSubmodules`). Where submodules were not checked out the
 * link stays, and files found there become a commit apart.
 *
 * @throws FarmError `workspace_too_large` before anything is read · `disk_full` · `timeout` · `capture_failed`
 */
export async function captureWorkspace(asked: CaptureAsked): Promise<Capture> {
  const limits = gitLimits(asked.limits);
  const base = requireOid(asked.base);
  const baseTree = await treeIfThere(asked.gitDir, base);
  if (baseTree === undefined) throw new FarmError('capture_failed', 'The base of the workspace is not there.');
  return withFolder(asked.gitDir, (folder) => capture(asked, { base, baseTree, limits, folder })).catch(
    (fault: unknown) => {
      const full = diskFull(fault);
      if (full !== undefined) throw full;
      if (fault instanceof FarmError && fault.code !== 'internal') throw fault;
      throw new FarmError('capture_failed', 'The workspace could not be read whole.', { cause: fault });
    },
  );
}

interface Ground {
  readonly base: Oid;
  readonly baseTree: Oid;
  readonly limits: GitLimits;
  /** For index files; gone afterwards. */
  readonly folder: string;
}

async function capture(asked: CaptureAsked, ground: Ground): Promise<Capture> {
  const { base, limits, folder } = ground;
  const { dir, gitDir, author, when } = asked;
  const own = await takeOwnCommits({ dir, gitDir, since: base, limits });
  const before = await filesOfTree(gitDir, base, limits);
  const pointers = await pointersOf(gitDir, base, before, limits);
  const scan = await scanWorkspace({
    dir,
    gitDir,
    base: withSizesOf(before.files, pointers),
    links: new Set(before.links.keys()),
    known: new Set([...(await namesInIndex(asked, ground, asked.dir)), ...(await namesInHead(gitDir, own, limits))]),
    include: (asked.include ?? []).map(fromText),
    taskDirectory: asked.taskDirectory === undefined ? undefined : fromText(asked.taskDirectory),
    limits,
  });
  const links = scan.links.flatMap((path) => {
    const oid = before.links.get(path);
    return oid === undefined ? [] : [{ path, oid }];
  });
  const below = await captureSubmodules({
    dir,
    gitDir,
    links,
    include: (asked.include ?? []).map(fromText),
    limits,
    newIndex: () => indexIn(folder, randomUUID()),
    namesInIndex: (place) => namesInIndex(asked, ground, place),
  });
  const { unchanged: blobs, changed } = await comparePointers(dir, pointers, scan.taken);
  const skip = new Set(blobs.map(({ path }) => path));
  const found = [...scan.taken, ...below.taken];
  const taken = found.filter((path) => !skip.has(path));
  const index = indexIn(folder);
  const tree = await writeWorkspaceTree({ dir, gitDir, index, taken, links: below.links, blobs, limits });
  const report: CaptureReport = {
    nested: [
      ...(await nestedOf(asked, ground, [...scan.nested, ...below.nested])),
      ...(await submodulesOf(asked, ground, below.foreign)),
      ...below.changed,
    ],
    ignored: scan.ignored,
    skipped: [...scan.skipped, ...below.skipped]
      .slice(0, 100)
      .map(({ path, reason }) => ({ path: toText(path), reason })),
    notCaptured: notCaptured(asked.include ?? [], found),
    lfsChanged: changed.slice(0, 100).map(toText),
  };
  const unchanged = tree === ground.baseTree && report.nested.every(({ content }) => content === undefined);
  if (unchanged) return { kind: 'no_changes', ...report };
  const commit = await commitTree(
    gitDir,
    { tree, parents: [base], message: asked.message, author, when },
    { durable: false },
  );
  const { files, total }: DiffStat = await diffStat({ dir: gitDir }, base, commit, { limits });
  return {
    kind: 'captured',
    commit,
    tree,
    files,
    total,
    known: below.known,
    ...(own.kind === 'taken' ? { ownCommits: own.head } : {}),
    ...(own.kind === 'left' ? { ownCommitsLeft: own.reason } : {}),
    ...report,
  };
}

/**
 * Names in the agent's index: what it added in spite of an ignore rule is its work. Only names are believed, and a copy is read,
 * by git with our GIT_DIR.
 */
async function namesInIndex(asked: CaptureAsked, ground: Ground, dir: string): Promise<readonly BytePath[]> {
  const dotGit = join(dir, '.git');
  const index = join(dotGit, 'index');
  const [folder, file] = await Promise.all([lstat(dotGit).catch(() => undefined), lstat(index).catch(() => undefined)]);
  if (folder?.isDirectory() !== true || file?.isFile() !== true || file.size > ground.limits.gitOutputBytes) return [];
  const copy = indexIn(ground.folder, randomUUID());
  await copyFile(index, copy);
  const answer = await git(['ls-files', '-z', '--cached'], {
    gitDir: asked.gitDir,
    workTree: dir,
    cwd: dir,
    env: { GIT_INDEX_FILE: copy },
    accept: 'any',
    limits: ground.limits,
  });
  return answer.exitCode === 0 ? splitPaths(answer.stdout) : [];
}

async function namesInHead(gitDir: string, own: OwnCommits, limits: GitLimits): Promise<readonly BytePath[]> {
  if (own.kind !== 'taken') return [];
  return [...(await filesOfTree(gitDir, own.head, limits)).files.keys()];
}

/** Repositories with more than this many siblings keep their files and lose only their histories. */
const nestedMost = 50;

async function nestedOf(
  asked: CaptureAsked,
  ground: Ground,
  nested: readonly BytePath[],
): Promise<readonly NestedRepository[]> {
  const found: NestedRepository[] = [];
  for (const path of [...nested].sort().slice(0, nestedMost)) found.push(await nestedAt(asked, ground, toText(path)));
  return found;
}

async function nestedAt(asked: CaptureAsked, ground: Ground, path: string): Promise<NestedRepository> {
  const own = await takeOwnCommits({ dir: join(asked.dir, path), gitDir: asked.gitDir, limits: ground.limits });
  if (own.kind === 'taken') return { path, head: own.head };
  return own.kind === 'left' ? { path, left: own.reason } : { path };
}

async function submodulesOf(
  asked: CaptureAsked,
  ground: Ground,
  links: readonly BytePath[],
): Promise<readonly NestedRepository[]> {
  const found: NestedRepository[] = [];
  for (const link of [...links].sort()) {
    const path = toText(link);
    const dir = join(asked.dir, path);
    if ((await readdir(dir)).length > 0)
      found.push({ ...(await nestedAt(asked, ground, path)), ...(await contentOf(asked, ground, dir)) });
  }
  return found;
}

/** The files in a submodule's folder as a commit of their own, without a parent. */
async function contentOf(asked: CaptureAsked, ground: Ground, dir: string): Promise<{ readonly content?: Oid }> {
  const { gitDir, message, author, when } = asked;
  const { limits } = ground;
  return withFolder(ground.folder, async (folder) => {
    const nothing = new Set<BytePath>();
    const scan = await scanWorkspace({
      dir,
      gitDir,
      base: new Map(),
      links: nothing,
      known: nothing,
      include: [],
      taskDirectory: undefined,
      limits,
    });
    if (scan.taken.length === 0) return {};
    const tree = await writeWorkspaceTree({
      dir,
      gitDir,
      index: indexIn(folder),
      taken: scan.taken,
      links: [],
      limits,
    });
    return { content: await commitTree(gitDir, { tree, parents: [], message, author, when }, { durable: false }) };
  });
}

function notCaptured(include: readonly string[], taken: readonly BytePath[]): readonly string[] {
  const names = new Set(taken);
  return include.filter((text) => {
    const path = fromText(text);
    return !names.has(path) && !taken.some((name) => name.startsWith(`${path}/`));
  });
}
