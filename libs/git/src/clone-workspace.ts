import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { FarmError } from '#contracts';
import { bundleRef, readBundleHeader } from './bundle.js';
import { type BytePath, bytesOf, fromText } from './byte-path.js';
import { withFolder } from './folders.js';
import { git } from './git.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import { type Oid, requireOid } from './oid.js';
import { indexPack, inQuarantine } from './quarantine.js';
import { scanWorkspace } from './scan-workspace.js';
import { holdsCommit, initBare, type Person, writeRawAttributes } from './store.js';
import { filesOfTree, indexIn, writeWorkspaceTree } from './workspace-tree.js';

export interface WorkspaceWanted {
  /** From the controller (`bundleFor`); may leave out what `gitDir` already has. */
  readonly bundle: string;
  readonly base: Oid;
  /** The workspace. */
  readonly dir: string;
  /** Ours: beside the workspace and not inside it. */
  readonly gitDir: string;
  /** The branch that the agent finds checked out is `longshore/<name>`. */
  readonly name: string;
  /** Who the agent's own commits are by. */
  readonly author: Person;
  /** Names that the agent's git does not show, such as the task directory. */
  readonly exclude?: readonly string[];
  readonly limits?: Partial<GitLimits>;
}

/**
 * Makes a workspace of the base: a repository that stands alone, without remotes, alternates or hooks, and beside it our own
 * GIT_DIR for captures, which owns its objects (H19) and shares no file with it.
 *
 * Again on a used workspace it lays the base in: only files that differ are touched, files that are not in the base go, ignored
 * ones stay, and the agent's `.git` is replaced by a fresh one. Capture first.
 *
 * @throws FarmError `source_refused` for a damaged bundle · `disk_full` · `timeout`
 */
export async function cloneWorkspace(wanted: WorkspaceWanted): Promise<{ readonly branch: string }> {
  const dir = resolve(wanted.dir);
  const gitDir = resolve(wanted.gitDir);
  const base = requireOid(wanted.base);
  const limits = gitLimits(wanted.limits);
  if (`${gitDir}/`.startsWith(`${dir}/`))
    throw new FarmError('internal', 'The GIT_DIR of a capture lies inside the workspace.');
  const branch = `longshore/${wanted.name}`;
  await git(['check-ref-format', `refs/heads/${branch}`]);
  await fillGitDir(gitDir, wanted.bundle, base, limits);
  await mkdir(dir, { recursive: true });
  await withFolder(gitDir, async (folder) => {
    const index = indexIn(folder);
    await layIn({ dir, gitDir, base, index, limits, keep: (wanted.exclude ?? []).map(fromText) });
    await writeDotGit({ dir, gitDir, base, branch, index, author: wanted.author, exclude: wanted.exclude ?? [] });
  });
  return { branch };
}

/** Takes the bundle into our GIT_DIR, made first when it is not there. */
async function fillGitDir(gitDir: string, bundle: string, base: Oid, limits: GitLimits): Promise<void> {
  if ((await lstat(join(gitDir, 'HEAD')).catch(() => undefined)) === undefined) {
    await mkdir(gitDir, { recursive: true });
    await initBare(gitDir);
  }
  if (await holdsCommit(gitDir, base)) return;
  const header = await readBundleHeader(bundle);
  if (!header.refs.some(({ name, oid }) => name === bundleRef && oid === base)) {
    throw new FarmError('source_refused', 'The bundle does not hold the base of the workspace.');
  }
  await inQuarantine(gitDir, join(gitDir, 'quarantine'), async (quarantine) => {
    await indexPack({
      gitDir,
      quarantine,
      pack: bundle,
      offset: header.packOffset,
      thin: header.prerequisites.length > 0,
      maxBytes: limits.storeBytes,
      maxObjects: limits.sourceObjects,
      strict: false,
      code: 'source_refused',
      limits,
      durable: false,
    });
    await quarantine.admit();
  });
}

interface Laying {
  readonly dir: string;
  readonly gitDir: string;
  readonly base: Oid;
  readonly index: string;
  readonly limits: GitLimits;
  readonly keep: readonly BytePath[];
}

/** The index is filled with what lies there, so that git touches only what differs and build tools find old times unchanged. */
async function layIn(laying: Laying): Promise<void> {
  const { dir, gitDir, base, index, limits } = laying;
  const { files } = await filesOfTree(gitDir, base, limits);
  const nothing = new Set<BytePath>();
  const kept = (path: BytePath): boolean => laying.keep.some((name) => path === name || path.startsWith(`${name}/`));
  const remove = (path: BytePath): Promise<void> =>
    rm(bytesOf(`${fromText(dir)}/${path}`), { recursive: true, force: true });
  const scan = await scanWorkspace({
    dir,
    gitDir,
    base: files,
    links: nothing,
    known: nothing,
    include: [],
    taskDirectory: undefined,
    limits: { ...limits, workspaceBytes: Number.MAX_SAFE_INTEGER, packObjects: Number.MAX_SAFE_INTEGER },
  });
  for (const path of scan.nested) await remove(`${path}/.git`);
  for (const path of scan.taken) if (!files.has(path) && !kept(path)) await remove(path);
  const taken = scan.taken.filter((path) => files.has(path));
  await writeWorkspaceTree({ dir, gitDir, index, taken, links: [], limits });
  await git(['read-tree', '--reset', '-u', base], {
    gitDir,
    workTree: dir,
    cwd: dir,
    limits,
    durable: false,
    config: { 'checkout.workers': '0' },
    env: { GIT_INDEX_FILE: index },
  });
}

interface DotGit {
  readonly dir: string;
  readonly gitDir: string;
  readonly base: Oid;
  readonly branch: string;
  readonly index: string;
  readonly author: Person;
  readonly exclude: readonly string[];
}

/** The repository that the agent sees. Made fresh each time: what an agent left in the old one never runs. */
async function writeDotGit(wanted: DotGit): Promise<void> {
  const dotGit = join(wanted.dir, '.git');
  await rm(dotGit, { recursive: true, force: true });
  await git(
    ['init', '--quiet', '--template=', '--object-format=sha1', `--initial-branch=${wanted.branch}`, wanted.dir],
    { durable: false },
  );
  const call = { gitDir: dotGit, durable: false };
  await git(['config', 'user.name', wanted.author.name], call);
  await git(['config', 'user.email', wanted.author.email], call);
  // the agent's own git sees the bytes that a capture sees
  await git(['config', 'core.autocrlf', 'false'], call);
  await writeRawAttributes(dotGit);
  await writeFile(join(dotGit, 'info', 'exclude'), wanted.exclude.map((name) => `/${name}\n`).join(''));
  await copyObjects(join(wanted.gitDir, 'objects'), join(dotGit, 'objects'));
  await git(['update-ref', `refs/heads/${wanted.branch}`, wanted.base], call);
  await copyFile(wanted.index, join(dotGit, 'index'));
}

/** Copies and never links: the agent can write its own `.git`, and ours must stay as it is. */
async function copyObjects(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyObjects(source, target);
    else if (entry.isFile()) await copyFile(source, target, constants.COPYFILE_FICLONE);
  }
}
