import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { FarmError } from '#contracts';
import { branchOf, pointAgentRepository, writeAgentRepository } from './agent-repository.js';
import { fromText } from './byte-path.js';
import { fillGitDir } from './fill-git-dir.js';
import { withFolder } from './folders.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import { layIn } from './lay-in.js';
import { type Oid, requireOid } from './oid.js';
import type { Person } from './store.js';
import { laySubmodules } from './submodules.js';
import { indexIn } from './workspace-tree.js';

export interface WorkspaceWanted {
  /** From the controller (`bundleFor`); may leave out what `gitDir` already has. Asked for only when `gitDir` lacks the base. */
  readonly bundle: string | (() => Promise<string>);
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
  /** Of `keepBase`: submodules that came with the base are laid in, each with a `.git` of its own. */
  readonly modules?: string;
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
  const { name, author } = wanted;
  const exclude = wanted.exclude ?? [];
  if (`${gitDir}/`.startsWith(`${dir}/`))
    throw new FarmError('internal', 'The GIT_DIR of a capture lies inside the workspace.');
  const branch = await branchOf(name);
  await fillGitDir(gitDir, wanted.bundle, base, limits);
  await mkdir(dir, { recursive: true });
  await withFolder(gitDir, async (folder) => {
    const index = indexIn(folder);
    await layIn({ dir, gitDir, base, index, limits, keep: exclude.map(fromText) });
    const dotGit = join(dir, '.git');
    await writeAgentRepository(dotGit, gitDir, 'copy');
    await pointAgentRepository({ dotGit, base, branch, index, author, exclude });
  });
  const { modules } = wanted;
  if (modules !== undefined) await laySubmodules({ dir, gitDir, base, modules, name, author, limits });
  return { branch };
}
