import { rm } from 'node:fs/promises';
import { type BytePath, bytesOf, fromText } from './byte-path.js';
import { git } from './git.js';
import type { GitLimits } from './git-limits.js';
import type { Oid } from './oid.js';
import { scanWorkspace } from './scan-workspace.js';
import { submodulesOf } from './submodules-ref.js';
import { filesOfTree, writeWorkspaceTree } from './workspace-tree.js';

export interface Laying {
  readonly dir: string;
  readonly gitDir: string;
  readonly base: Oid;
  /** A path where no index is yet; afterwards it holds the base with the times of the files that lie there. */
  readonly index: string;
  readonly limits: GitLimits;
  /** Stays, though it is not in the base. */
  readonly keep: readonly BytePath[];
}

/**
 * Lays the base into a folder: only files that differ are touched, files that are not in the base go, ignored ones stay.
 *
 * Answers which files went.
 *
 * The index is filled with what lies there, so that git touches only what differs and build tools find old times unchanged.
 */
export async function layIn(laying: Laying): Promise<readonly BytePath[]> {
  const { dir, gitDir, base, index, limits } = laying;
  const { files } = await filesOfTree(gitDir, base, limits);
  const nothing = new Set<BytePath>();
  // what lies in a submodule is laid in by itself; something else in the place of its folder goes
  const submodules = await submodulesOf(gitDir, base, limits);
  const kept = (path: BytePath): boolean =>
    laying.keep.some((name) => path === name || path.startsWith(`${name}/`)) ||
    submodules.some((submodule) => path.startsWith(`${submodule.path}/`));
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
  const gone = scan.taken.filter((path) => !files.has(path) && !kept(path));
  for (const path of gone) await remove(path);
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
  return gone;
}
