import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import type { GitLoop } from './git-loop.js';
import type { Oid } from './oid.js';

/**
 * Whether anybody could check a tree out: reads the whole of it as an index, which refuses `.git` and the like anywhere in it, and
 * writes what differs from `known`: only that can be new, and only that costs time.
 *
 * @param loop its GIT_INDEX_FILE is written
 */
export async function probeTree(loop: GitLoop, folder: string, known: Oid, tree: Oid): Promise<boolean> {
  const place = `probe-${tree}`;
  await mkdir(join(folder, place), { recursive: true });
  try {
    if ((await loop.run(['read-tree', tree])).exitCode !== 0) return false;
    const names = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--diff-filter=d', known, tree];
    const changed = await loop.run(names);
    const write = [`--work-tree=${place}`, 'checkout-index', '--quiet', '-z', '--stdin'];
    return changed.exitCode === 0 && (await loop.run(write, changed.stdout)).exitCode === 0;
  } catch (problem) {
    if (problem instanceof FarmError && problem.code === 'too_large') return false;
    throw problem;
  }
}
