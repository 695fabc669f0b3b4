import { FarmError } from '#contracts';
import { git } from './git.js';
import { gitLimits } from './git-limits.js';
import { type Oid, requireOid } from './oid.js';
import type { ObjectStore } from './store.js';

export type PathKind = 'regular' | 'symlink' | 'directory' | 'missing';

interface Found {
  readonly kind: PathKind;
  readonly oid?: Oid;
}

/**
 * What stands at a path in a commit's tree. Symlinks on the way are never followed: a path through one is `missing`.
 * A link to a submodule is a `directory`.
 */
export async function treeHas(store: ObjectStore, commit: Oid, path: string): Promise<PathKind> {
  return (await find(store, commit, path)).kind;
}

/**
 * The bytes of a regular file in a commit's tree.
 *
 * @throws FarmError `not_found` when no regular file stands there · `too_large` over `maxBytes`
 */
export async function readFileAt(store: ObjectStore, commit: Oid, path: string, maxBytes?: number): Promise<Buffer> {
  const found = await find(store, commit, path);
  if (found.kind !== 'regular' || found.oid === undefined) {
    throw new FarmError('not_found', 'There is no regular file at this path of the commit.');
  }
  const most = maxBytes ?? gitLimits().gitOutputBytes;
  const size = Number((await git(['cat-file', '-s', found.oid], { gitDir: store.dir })).text);
  if (size > most) throw new FarmError('too_large', 'The file is larger than what may be read at once.');
  return (await git(['cat-file', 'blob', found.oid], { gitDir: store.dir })).stdout;
}

async function find(store: ObjectStore, commit: Oid, path: string): Promise<Found> {
  requireOid(commit);
  const proper =
    path !== '' && !path.includes('\0') && path.split('/').every((part) => !['', '.', '..'].includes(part));
  if (!proper) return { kind: 'missing' };
  const answer = await git(['ls-tree', '-z', '--full-tree', commit, '--', path], { gitDir: store.dir });
  const [mode, , oid] = answer.stdout.toString('latin1').split(/[ \t]/, 3);
  if (mode === '100644' || mode === '100755') return { kind: 'regular', ...(oid === undefined ? {} : { oid }) };
  if (mode === '120000') return { kind: 'symlink' };
  if (mode === '040000' || mode === '160000') return { kind: 'directory' };
  return { kind: 'missing' };
}
