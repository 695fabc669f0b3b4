import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import { branchOf, pointAgentRepository, writeAgentRepository } from './agent-repository.js';
import { toText } from './byte-path.js';
import { withFolder } from './folders.js';
import { git } from './git.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import { type Laying, layIn } from './lay-in.js';
import { type Oid, oidOf, requireOid } from './oid.js';
import { commitTree, holdsCommit, initBare, type ObjectStore, type Person } from './store.js';
import { readSubmodulesRef, type Submodule, submodulesOf, submodulesRef } from './submodules-ref.js';

/**
 * Pins what the submodules of a Task's base are checked out at: one commit without files whose parents are those commits, so that
 * whatever takes it along takes them. The same commits give the same id in every store. With none the pin goes.
 *
 * @throws FarmError `not_found` when the store does not hold a commit
 */
export async function pinSubmodules(store: ObjectStore, commits: readonly Oid[]): Promise<Oid | undefined> {
  const parents = [...new Set(commits.map(requireOid))].sort();
  for (const parent of parents)
    if (!(await holdsCommit(store.dir, parent)))
      throw new FarmError('not_found', 'The store does not hold the commit of a submodule.');
  if (parents.length === 0) {
    await git(['update-ref', '-d', submodulesRef], { gitDir: store.dir });
    return undefined;
  }
  const commit = await commitTree(store.dir, {
    tree: oidOf((await git(['mktree'], { gitDir: store.dir, input: '' })).text),
    parents,
    message: 'Submodules of the base',
    author: { name: 'Longshore', email: 'longshore@localhost' },
    when: new Date(0),
  });
  await git(['update-ref', submodulesRef, commit], { gitDir: store.dir });
  return commit;
}

/** What `pinSubmodules` answered; undefined where the Task's submodules are not checked out. */
export async function pinnedSubmodules({ dir }: ObjectStore): Promise<Oid | undefined> {
  return readSubmodulesRef(dir);
}

/** Paths at which the first commit has a submodule that was checked out and the second has something else, or nothing. */
export async function changedSubmodules(
  { dir }: ObjectStore,
  base: Oid,
  commit: Oid,
): Promise<readonly { readonly path: string; readonly now: 'files' | 'gone' }[]> {
  const limits = gitLimits();
  const links = await submodulesOf(dir, requireOid(base), limits);
  if (links.length === 0) return [];
  const found: { path: string; now: 'files' | 'gone' }[] = [];
  for (const { path } of links.filter(({ level }) => level === 1)) {
    const call = { gitDir: dir, limits };
    const answer = await git(['ls-tree', '-z', '--full-tree', requireOid(commit), '--', toText(path)], call);
    const mode = answer.stdout.toString('latin1').split(' ', 1)[0];
    if (mode !== '160000') found.push({ path: toText(path), now: mode === '' ? 'gone' : 'files' });
  }
  return found;
}

/** Gives each submodule of a base a bare repository of its own history, in a folder by its commit. */
export async function keepModules(gitDir: string, base: Oid, modules: string, limits: GitLimits): Promise<void> {
  const commits = new Set((await submodulesOf(gitDir, base, limits)).map(({ commit }) => commit));
  for (const commit of commits) {
    const own = moduleAt(modules, commit);
    await mkdir(own, { recursive: true });
    await initBare(own);
    await git(['pack-objects', '--quiet', '--revs', '--delta-base-offset', join(own, 'objects', 'pack', 'pack')], {
      gitDir,
      limits,
      durable: false,
      input: `${commit}\n`,
    });
  }
}

const moduleAt = (modules: string, commit: Oid): string => join(modules, `${commit}.git`);

interface SubmodulesWanted {
  /** The workspace; the base lies in it. */
  readonly dir: string;
  /** Ours; holds the base and its submodules. */
  readonly gitDir: string;
  readonly base: Oid;
  readonly limits: GitLimits;
}

/**
 * Lays the files of each submodule into its folder, those of an inner one after those of the outer: only files that differ are
 * touched, as in `layIn`. Nothing where submodules are not checked out.
 */
export async function laySubmoduleFiles(
  wanted: SubmodulesWanted,
  after: (submodule: Submodule, folder: string, index: string) => Promise<void> = async () => undefined,
): Promise<void> {
  const { dir, gitDir, base, limits } = wanted;
  for (const submodule of await submodulesOf(gitDir, base, limits)) {
    const folder = join(dir, toText(submodule.path));
    if ((await lstat(folder).catch(() => undefined))?.isDirectory() !== true)
      throw new FarmError('internal', 'A submodule of the base has no folder in the workspace.');
    await withFolder(gitDir, async (own) => {
      const index = join(own, 'index');
      const laying: Laying = { dir: folder, gitDir, base: submodule.commit, index, limits, keep: [] };
      await layIn(laying);
      await after(submodule, folder, index);
    });
  }
}

interface RepositoriesWanted extends SubmodulesWanted {
  /** Of `keepBase`. */
  readonly modules: string;
  /** As in the workspace: the branch becomes `longshore/<name>`. */
  readonly name: string;
  readonly author: Person;
}

/** Files and a fresh `.git` for each submodule: it stands alone, without remotes, alternates or hooks (H2, H19). */
export async function laySubmodules(wanted: RepositoriesWanted): Promise<void> {
  const { modules, name, author } = wanted;
  const branch = await branchOf(name);
  await laySubmoduleFiles(wanted, async ({ commit }, folder, index) => {
    const dotGit = join(folder, '.git');
    await writeAgentRepository(dotGit, moduleAt(modules, commit), 'copy');
    await pointAgentRepository({ dotGit, base: commit, branch, author, exclude: [], index });
  });
}
