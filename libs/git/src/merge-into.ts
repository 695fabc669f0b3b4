import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import { withFolder } from './folders.js';
import { git } from './git.js';
import type { GitLimits } from './git-limits.js';
import { isOid, type Oid, requireOid } from './oid.js';
import { commitTree, holdsCommit, type ObjectStore, type Person, treeOf } from './store.js';

export interface MergeAsked {
  /** The line that takes. */
  readonly ours: Oid;
  /** The commit that is merged into it. */
  readonly theirs: Oid;
  /** Where the other line began; when it still stands there it brings nothing. */
  readonly base?: Oid;
  readonly message: string;
  readonly author: Person;
  readonly when: Date;
  readonly limits?: Partial<GitLimits>;
}

export type Merge =
  | { readonly outcome: 'no_changes' }
  | { readonly outcome: 'already_merged' }
  | { readonly outcome: 'merged'; readonly commit: Oid }
  | { readonly outcome: 'conflict'; readonly files: readonly string[] }
  | { readonly outcome: 'error'; readonly reason: string };

/**
 * Merges one commit into another and moves no ref. The same arguments give the same commit, so it may be killed and begun again
 * (H6, D21). Whether it was merged before is read from the history, never guessed from the content. The merged tree is
 * probed by a checkout.
 *
 * `already_merged` is also said when the other line brings only what is there; `error` when a commit is missing, the histories
 * have nothing in common, or nobody could check out the result.
 *
 * @throws FarmError `timeout`, `disk_full`
 */
export async function mergeInto(store: ObjectStore, asked: MergeAsked): Promise<Merge> {
  const ours = requireOid(asked.ours);
  const theirs = requireOid(asked.theirs);
  const call = { gitDir: store.dir, ...(asked.limits === undefined ? {} : { limits: asked.limits }) };
  // first, because merge-tree ends with 1 for a missing commit as it does for a conflict
  for (const oid of [ours, theirs]) {
    if (!(await holdsCommit(store.dir, oid)))
      return { outcome: 'error', reason: 'A commit of the merge is not in the store.' };
  }
  if (theirs === asked.base) return { outcome: 'no_changes' };
  const ancestor = await git(['merge-base', '--is-ancestor', theirs, ours], { ...call, accept: [0, 1] });
  if (ancestor.exitCode === 0) return { outcome: 'already_merged' };
  if (asked.base !== undefined && (await sameTree(store, asked.base, theirs))) return { outcome: 'no_changes' };

  const merge = await git(['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', ours, theirs], {
    ...call,
    accept: 'any',
  });
  const [tree = '', ...files] = merge.stdout.toString().split('\0');
  if (merge.exitCode === 1) return { outcome: 'conflict', files: [...new Set(files.filter((file) => file !== ''))] };
  if (merge.exitCode !== 0 || !isOid(tree)) return { outcome: 'error', reason: mergeFault(merge.stderr) };
  if (tree === (await treeOf(store.dir, ours))) return { outcome: 'already_merged' };
  const fault = await probe(store, tree, ours, call);
  if (fault !== undefined) return { outcome: 'error', reason: fault };
  const { message, author, when } = asked;
  return {
    outcome: 'merged',
    commit: await commitTree(store.dir, { tree, parents: [ours, theirs], message, author, when }),
  };
}

async function sameTree(store: ObjectStore, one: Oid, other: Oid): Promise<boolean> {
  if (!(await holdsCommit(store.dir, requireOid(one)))) return false;
  return (await treeOf(store.dir, one)) === (await treeOf(store.dir, other));
}

function mergeFault(stderr: string): string {
  if (/unrelated histories/.test(stderr)) return 'The two commits have no history in common.';
  if (/out of memory|mmap failed/i.test(stderr)) return 'The merge needs more memory than its limit.';
  return 'git could not merge the two commits.';
}

/**
 * Reads the whole merged tree as an index, which refuses `.git` and the like anywhere in it, and checks out what differs from
 * our side: only that can be new, and only that costs time.
 */
async function probe(
  store: ObjectStore,
  tree: Oid,
  ours: Oid,
  call: { readonly gitDir: string },
): Promise<string | undefined> {
  const fault = 'The merged tree can not be checked out.';
  return withFolder(join(store.dir, 'quarantine'), async (folder) => {
    const workTree = join(folder, 'tree');
    await mkdir(workTree);
    const there = {
      ...call,
      cwd: workTree,
      workTree,
      durable: false,
      env: { GIT_INDEX_FILE: join(folder, 'index') },
      accept: 'any',
    } as const;
    if ((await git(['read-tree', tree], there)).exitCode !== 0) return fault;
    const changed = await git(
      ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--diff-filter=d', ours, tree],
      call,
    );
    const written = await git(['checkout-index', '--quiet', '-z', '--stdin'], { ...there, input: changed.stdout });
    return written.exitCode === 0 ? undefined : fault;
  }).catch((problem: unknown) => {
    if (problem instanceof FarmError && problem.code === 'too_large') return fault;
    throw problem;
  });
}
