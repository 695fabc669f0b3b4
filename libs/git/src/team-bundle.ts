import { createHash } from 'node:crypto';
import { mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import { withFolder } from './folders.js';
import { git, gitToFile } from './git.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import { type Oid, requireOid } from './oid.js';
import { holdsCommit, type ObjectStore, treeOf } from './store.js';

/** Where a bundle of a team's work names its branches and its notes. */
export const teamRefs = { branches: 'refs/longshore/team/branches/', notes: 'refs/longshore/team/notes/' } as const;

export interface TeamWork {
  /** What the reader has. */
  readonly base: Oid;
  /** Names such as `longshore/<member>-<wave>`. */
  readonly branches: readonly { readonly branch: string; readonly commit: Oid }[];
  /** A commit whose tree is the member's notes; of its history nothing goes along. */
  readonly notes: readonly { readonly member: string; readonly commit: Oid }[];
}

/**
 * The path of a bundle that brings unmerged branches (D22) and notes into a workspace that has the base: whole histories of the
 * branches, bare trees of the notes. Kept beside the bundles of bases, by content.
 *
 * @throws FarmError `not_found` when the store lacks one of them · `disk_full` · `timeout`
 */
export async function teamBundleFor(
  store: ObjectStore,
  work: TeamWork,
  asked: { readonly limits?: Partial<GitLimits> } = {},
): Promise<string> {
  const limits = gitLimits(asked.limits);
  for (const { commit } of [...work.branches, ...work.notes])
    if (!(await holdsCommit(store.dir, requireOid(commit))))
      throw new FarmError('not_found', 'The store does not hold this commit.');
  const branches = work.branches.map(({ branch, commit }) => `${commit} ${teamRefs.branches}${branch}`);
  const notes: string[] = [];
  for (const { member, commit } of work.notes)
    notes.push(`${await treeOf(store.dir, commit)} ${teamRefs.notes}${member}`);
  const refs = [...branches, ...notes];
  const head = ['# v2 git bundle', `-${requireOid(work.base)} `, ...refs, '', ''].join('\n');
  const cache = join(store.dir, 'bundles');
  const path = join(cache, `team-${createHash('sha256').update(head).digest('hex').slice(0, 40)}.bundle`);
  if ((await stat(path).catch(() => undefined)) !== undefined) return path;
  await mkdir(cache, { recursive: true });
  const revisions = [...refs.map((ref) => ref.slice(0, ref.indexOf(' '))), `^${work.base}`, ''].join('\n');
  return withFolder(cache, async (folder) => {
    const draft = join(folder, 'bundle');
    await gitToFile(
      ['pack-objects', '--quiet', '--revs', '--thin', '--delta-base-offset', '--stdout'],
      { gitDir: store.dir, limits, input: revisions },
      { path: draft, maxBytes: limits.storeBytes, head },
    );
    await rename(draft, path);
    return path;
  });
}

/** Whether one commit has come into another one's history. Unknown commits have not. */
export async function isMergedInto(store: ObjectStore, commit: Oid, into: Oid): Promise<boolean> {
  const asked = ['merge-base', '--is-ancestor', requireOid(commit), requireOid(into)];
  return (await git(asked, { gitDir: store.dir, accept: 'any' })).exitCode === 0;
}

/** Whether the tree of a commit has so many regular files of so many bytes at most, and nothing else. */
export async function isSmallTree(
  store: ObjectStore,
  commit: Oid,
  most: { readonly files: number; readonly bytes: number },
): Promise<boolean> {
  const listed = await git(['ls-tree', '-r', '-l', '-z', requireOid(commit)], { gitDir: store.dir });
  const entries = listed.stdout
    .toString('latin1')
    .split('\0')
    .filter((entry) => entry !== '');
  const sizes = entries.map((entry) => /^100(?:644|755) blob [0-9a-f]+ +(\d+)\t/.exec(entry)?.[1]);
  const bytes = sizes.reduce((sum, size) => sum + Number(size ?? Number.NaN), 0);
  return entries.length <= most.files && bytes <= most.bytes;
}
