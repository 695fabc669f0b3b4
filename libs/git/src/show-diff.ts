import { FarmError } from '#contracts';
import { git } from './git.js';
import type { GitLimits } from './git-limits.js';
import { type Oid, requireOid } from './oid.js';

interface DiffAsked {
  /** Files and numbers only. */
  readonly stat?: boolean;
  /** Only these paths, as they are; default all. */
  readonly paths?: readonly string[];
  readonly maxBytes: number;
  readonly limits?: Partial<GitLimits>;
}

export interface ShownDiff {
  /** UTF-8; cut at the end of a line. */
  readonly text: string;
  readonly truncated: boolean;
}

/** Held in memory at most; a diff that is longer is not shown at all. */
const mostHeld = 64 * 1024 * 1024;

/** The diff of two commits for people to read: a bare store's, so no filter, driver or attribute of the content has a say (H2). */
export async function showDiff(
  repository: { readonly dir: string },
  base: Oid,
  commit: Oid,
  asked: DiffAsked,
): Promise<ShownDiff> {
  const how = asked.stat === true ? ['--stat=120,90', '--summary'] : ['-p', '--full-index'];
  const paths = asked.paths === undefined ? [] : ['--', ...asked.paths];
  if (asked.paths?.length === 0) return { text: '', truncated: false };
  try {
    const { stdout } = await git(
      [
        'diff-tree',
        '-r',
        '-M',
        '--no-color',
        '--no-ext-diff',
        '--no-textconv',
        ...how,
        requireOid(base),
        requireOid(commit),
        ...paths,
      ],
      { gitDir: repository.dir, limits: { ...asked.limits, gitOutputBytes: mostHeld } },
    );
    return cut(stdout, asked.maxBytes);
  } catch (error) {
    if (error instanceof FarmError && error.code === 'too_large') return { text: '', truncated: true };
    throw error;
  }
}

function cut(bytes: Buffer, most: number): ShownDiff {
  if (bytes.length <= most) return { text: bytes.toString(), truncated: false };
  const end = bytes.lastIndexOf(0x0a, most - 1);
  return { text: bytes.subarray(0, end < 0 ? 0 : end + 1).toString(), truncated: true };
}

/**
 * Every path that any commit between the two touched, also one that a later commit put back: what is pushed is the whole history.
 * In bytes as git has them, read as UTF-8.
 */
export async function touchedPaths(
  repository: { readonly dir: string },
  base: Oid,
  commit: Oid,
  limits: Partial<GitLimits> = {},
): Promise<readonly string[]> {
  const range = `${requireOid(base)}..${requireOid(commit)}`;
  const { stdout } = await git(
    ['log', '-m', '-z', '--format=', '--name-only', '--no-renames', '--no-ext-diff', range],
    {
      gitDir: repository.dir,
      limits,
    },
  );
  return [
    ...new Set(
      stdout
        .toString()
        .split('\0')
        .filter((path) => path !== ''),
    ),
  ].sort();
}
