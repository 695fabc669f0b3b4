import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { branchOf, pointAgentRepository, writeAgentRepository } from './agent-repository.js';
import { toText } from './byte-path.js';
import { fillGitDir, linkGitDir } from './fill-git-dir.js';
import { withFolder } from './folders.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import { layIn } from './lay-in.js';
import { type Oid, requireOid } from './oid.js';
import { type Person, treeOf } from './store.js';
import { keepModules, laySubmoduleFiles, laySubmodules } from './submodules.js';
import { indexIn } from './workspace-tree.js';

/*
 * The parts of a workspace that many can share, because nobody writes them: the repository of a base, and its files. A workspace
 * is made of them by laying a layer of its own above (or by copying them), and by `layAgentHead`.
 */

interface BaseWanted {
  /** Asked for only when it is needed. */
  readonly bundle: () => Promise<string>;
  readonly base: Oid;
  /** Ours: bare, owns its objects. */
  readonly gitDir: string;
  /** Folder that gets a `.git` for the agent, whose packs are those of `gitDir`: for a layer that is never written. */
  readonly layer: string;
  /** Folder that gets a repository for each submodule that came with the base. */
  readonly modules?: string;
  readonly limits?: Partial<GitLimits>;
}

/**
 * Makes the repository of a base, once for all workspaces that begin there. Answers the base's tree.
 *
 * @throws FarmError `source_refused` for a damaged bundle · `disk_full` · `timeout`
 */
export async function keepBase(wanted: BaseWanted): Promise<{ readonly tree: Oid }> {
  const base = requireOid(wanted.base);
  const limits = gitLimits(wanted.limits);
  await fillGitDir(wanted.gitDir, wanted.bundle, base, limits);
  if (wanted.modules !== undefined) await keepModules(wanted.gitDir, base, wanted.modules, limits);
  await mkdir(wanted.layer, { recursive: true });
  await writeAgentRepository(join(wanted.layer, '.git'), wanted.gitDir, 'link');
  return { tree: await treeOf(wanted.gitDir, base) };
}

/** A GIT_DIR of its own for the captures of one workspace, from the one of its base. It owns its objects (H19). */
export function gitDirFrom(baseGitDir: string, gitDir: string): Promise<void> {
  return linkGitDir(baseGitDir, gitDir);
}

interface FilesWanted {
  readonly dir: string;
  readonly gitDir: string;
  readonly base: Oid;
  /** File that gets the index of these files. */
  readonly index: string;
  readonly limits?: Partial<GitLimits>;
}

/**
 * Lays the files of the base and of its submodules into a folder, without a `.git`. On a used folder: files that are not in the base go, ignored ones
 * stay. Answers which went.
 *
 * @throws FarmError `disk_full` · `timeout`
 */
export async function layFiles({ dir, gitDir, base, index, limits }: FilesWanted): Promise<readonly string[]> {
  await mkdir(dir, { recursive: true });
  const gone = await withFolder(gitDir, async (folder) => {
    const made = indexIn(folder);
    const removed = await layIn({
      dir,
      gitDir,
      base: requireOid(base),
      index: made,
      limits: gitLimits(limits),
      keep: [],
    });
    await copyFile(made, index);
    return removed;
  });
  await laySubmoduleFiles({ dir, gitDir, base: requireOid(base), limits: gitLimits(limits) });
  return gone.map(toText);
}

interface HeadWanted {
  /** The workspace; its `.git` has the objects of the base already. */
  readonly dir: string;
  readonly base: Oid;
  /** The branch becomes `longshore/<name>`. */
  readonly name: string;
  readonly author: Person;
  readonly exclude?: readonly string[];
  /** Index of the files as they lie there. */
  readonly index: string;
  /** Where submodules came with the base: our GIT_DIR, and the folder of `keepBase`. */
  readonly submodules?: { readonly gitDir: string; readonly modules: string };
  readonly limits?: Partial<GitLimits>;
}

/** Gives a workspace that was put together from layers its branch, author and index. */
export async function layAgentHead(wanted: HeadWanted): Promise<void> {
  const { base, name, author, exclude, index } = wanted;
  await pointAgentRepository({
    dotGit: join(wanted.dir, '.git'),
    base: requireOid(base),
    branch: await branchOf(name),
    author,
    exclude: exclude ?? [],
    index,
  });
  const { submodules } = wanted;
  if (submodules)
    await laySubmodules({ dir: wanted.dir, base, name, author, limits: gitLimits(wanted.limits), ...submodules });
}
