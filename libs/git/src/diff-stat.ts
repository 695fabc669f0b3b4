import { git } from './git.js';
import type { GitLimits } from './git-limits.js';
import { type Oid, requireOid } from './oid.js';

export interface FileChange {
  readonly path: string;
  readonly status: 'added' | 'deleted' | 'modified' | 'type_changed';
  /** Lines; 0 for binary files. */
  readonly additions: number;
  readonly deletions: number;
  readonly binary: boolean;
}

export interface DiffStat {
  /** In path order, at most `most`. */
  readonly files: readonly FileChange[];
  /** All files changed, listed or not. */
  readonly total: number;
  readonly additions: number;
  readonly deletions: number;
}

const statuses: Readonly<Record<string, FileChange['status']>> = {
  A: 'added',
  D: 'deleted',
  M: 'modified',
  T: 'type_changed',
};

/** The files that differ between two commits, renames shown as what they are made of. `most` is 1,000 unless said otherwise. */
export async function diffStat(
  repository: { readonly dir: string },
  base: Oid,
  commit: Oid,
  options: { readonly most?: number; readonly limits?: Partial<GitLimits> } = {},
): Promise<DiffStat> {
  const what = [requireOid(base), requireOid(commit)];
  const answer = await git(
    ['diff-tree', '-r', '-z', '--raw', '--numstat', '--no-renames', '--no-ext-diff', '--no-textconv', ...what],
    { gitDir: repository.dir, ...(options.limits === undefined ? {} : { limits: options.limits }) },
  );
  return gather(answer.stdout.toString().split('\0'), options.most ?? 1000);
}

/** All raw records (`:modes ids status`, path) come first, then the numbers (`added deleted path`) in the same order. */
function gather(records: readonly string[], most: number): DiffStat {
  const status = new Map<string, FileChange['status']>();
  const files: FileChange[] = [];
  let [total, additions, deletions] = [0, 0, 0];
  for (let at = 0; at < records.length; at += 1) {
    const record = records[at] ?? '';
    if (record.startsWith(':')) {
      at += 1;
      status.set(records[at] ?? '', statuses[record.at(-1) ?? ''] ?? 'modified');
      continue;
    }
    const [added, deleted, path] = record.split('\t', 2).concat(record.split('\t').slice(2).join('\t'));
    if (added === undefined || deleted === undefined || path === undefined || path === '') continue;
    const change = { additions: Number(added) || 0, deletions: Number(deleted) || 0, binary: added === '-' };
    total += 1;
    additions += change.additions;
    deletions += change.deletions;
    if (files.length < most) files.push({ path, status: status.get(path) ?? 'modified', ...change });
  }
  return { files, total, additions, deletions };
}
