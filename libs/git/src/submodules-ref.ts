import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { limits as farmLimits, systemCodeOf } from '#contracts';
import { type BytePath, joined } from './byte-path.js';
import type { GitLimits } from './git-limits.js';
import { isOid, type Oid } from './oid.js';
import { holdsCommit } from './store.js';
import { filesOfTree } from './workspace-tree.js';

/** In a Task's store, in bundles and in our GIT_DIRs: submodules are checked out, and the objects of all of them are here. */
export const submodulesRef = 'refs/longshore/submodules';

export async function readSubmodulesRef(gitDir: string): Promise<Oid | undefined> {
  // never packed: in our GIT_DIRs nothing collects refs
  const text = await readFile(join(gitDir, submodulesRef), 'utf8').catch((error: unknown) => {
    if (systemCodeOf(error) !== 'ENOENT') throw error;
    return '';
  });
  return isOid(text.trim()) ? text.trim() : undefined;
}

/** From one GIT_DIR of ours to another that has the same objects. */
export async function copySubmodulesRef(from: string, to: string): Promise<void> {
  await mkdir(dirname(join(to, submodulesRef)), { recursive: true });
  await copyFile(join(from, submodulesRef), join(to, submodulesRef)).catch((error: unknown) => {
    if (systemCodeOf(error) !== 'ENOENT') throw error;
  });
}

export interface Submodule {
  readonly path: BytePath;
  readonly commit: Oid;
  /** 1 is one of the base, 2 one of such a one. */
  readonly level: number;
}

/** Submodules that are checked out under a commit, each before those within it. None where the GIT_DIR has no pin of them. */
export async function submodulesOf(gitDir: string, commit: Oid, limits: GitLimits): Promise<readonly Submodule[]> {
  if ((await readSubmodulesRef(gitDir)) === undefined) return [];
  return linksBelow({ gitDir, limits }, { path: '', commit, level: 0 });
}

async function linksBelow(
  ground: { readonly gitDir: string; readonly limits: GitLimits },
  above: Submodule,
): Promise<readonly Submodule[]> {
  if (above.level >= farmLimits.submoduleLevels) return [];
  const found: Submodule[] = [];
  const { links } = await filesOfTree(ground.gitDir, above.commit, ground.limits);
  for (const [name, commit] of links) {
    if (!(await holdsCommit(ground.gitDir, commit))) continue;
    const submodule = { path: joined(above.path, name), commit, level: above.level + 1 };
    found.push(submodule, ...(await linksBelow(ground, submodule)));
  }
  return found;
}
