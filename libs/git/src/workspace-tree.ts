import { join } from 'node:path';
import { type BytePath, bytesOf, fromBytes, joinPaths } from './byte-path.js';
import { git } from './git.js';
import type { GitLimits } from './git-limits.js';
import { type Oid, oidOf } from './oid.js';

interface TreeAsked {
  readonly dir: string;
  readonly gitDir: string;
  /** A path where no index is yet; it stays, with the work tree's times in it. */
  readonly index: string;
  readonly taken: readonly BytePath[];
  /** Links to submodules that stay as they are. */
  readonly links: readonly { readonly path: BytePath; readonly oid: Oid }[];
  /** Files that stand in the tree as these blobs, whatever lies there. */
  readonly blobs?: readonly { readonly path: BytePath; readonly mode: string; readonly blob: Oid }[];
  readonly limits: GitLimits;
}

/**
 * Writes the tree of exactly these files, as they lie there. The index is fresh, so every byte is read: nothing that an agent
 * wrote into an index, a file's times or an attribute can hide a change (H2).
 */
export async function writeWorkspaceTree(asked: TreeAsked): Promise<Oid> {
  const { dir, gitDir, limits } = asked;
  const call = { gitDir, workTree: dir, cwd: dir, limits, durable: false, env: { GIT_INDEX_FILE: asked.index } };
  // --remove: what vanished since the scan is simply not there
  await git(['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], {
    ...call,
    input: joinPaths(asked.taken),
  });
  if (asked.links.length > 0) {
    const lines = asked.links.map(({ path, oid }) => `160000 ${oid}\t${path}\0`).join('');
    await git(['update-index', '-z', '--index-info'], { ...call, input: bytesOf(lines) });
  }
  const { blobs = [] } = asked;
  if (blobs.length > 0) {
    const lines = blobs.map(({ path, mode, blob }) => `${mode} ${blob}\t${path}\0`).join('');
    await git(['update-index', '-z', '--index-info'], { ...call, input: bytesOf(lines) });
  }
  return oidOf((await git(['write-tree'], call)).text);
}

export interface TreeFiles {
  /** Path and size of each file. */
  readonly files: ReadonlyMap<BytePath, number>;
  /** Path and commit of each submodule. */
  readonly links: ReadonlyMap<BytePath, Oid>;
}

export async function filesOfTree(gitDir: string, commit: Oid, limits: GitLimits): Promise<TreeFiles> {
  const files = new Map<BytePath, number>();
  const links = new Map<BytePath, Oid>();
  const answer = await git(['ls-tree', '-r', '-z', '--long', '--full-tree', commit], { gitDir, limits });
  for (const line of fromBytes(answer.stdout).split('\0')) {
    const found = /^(\d+) (blob|commit) ([0-9a-f]+) +(\d+|-)\t([\s\S]+)$/.exec(line);
    const [, , type, oid = '', size, path = ''] = found ?? [];
    if (type === 'commit') links.set(path, oid);
    if (type === 'blob') files.set(path, Number(size));
  }
  return { files, links };
}

/** Where an index for one capture may lie: inside our own GIT_DIR, out of the agent's reach. */
export const indexIn = (folder: string, name = 'index'): string => join(folder, name);
