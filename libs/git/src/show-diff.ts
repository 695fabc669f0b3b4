import { isUtf8 } from 'node:buffer';
import { FarmError } from '#contracts';
import { git } from './git.js';
import type { GitLimits } from './git-limits.js';
import { type Oid, requireOid } from './oid.js';

interface DiffAsked {
  /** Files and numbers only. */
  readonly stat?: boolean;
  /** Only these paths, as they are; default all. */
  readonly paths?: readonly string[];
  /** What is binary, or what an attribute says is so, is shown like any text; default `Binary files differ`. */
  readonly everything?: boolean;
  readonly maxBytes: number;
  readonly limits?: Partial<GitLimits>;
}

export interface ShownDiff {
  /** UTF-8; cut at the end of a line. */
  readonly text: string;
  readonly truncated: boolean;
  /** With `everything`: all of it is text that can be read. */
  readonly legible: boolean;
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
  if (asked.paths?.length === 0) return { text: '', truncated: false, legible: true };
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
        ...allText(asked),
        requireOid(base),
        requireOid(commit),
        ...paths,
      ],
      { gitDir: repository.dir, limits: { ...asked.limits, gitOutputBytes: mostHeld } },
    );
    return cut(stdout, asked.maxBytes);
  } catch (error) {
    if (error instanceof FarmError && error.code === 'too_large') return { text: '', truncated: true, legible: false };
    throw error;
  }
}

/**
 * What each commit between the two did to these paths, the oldest first, also what a later one took back; a merge against each of
 * its parents. Nothing that its author wrote but the content: no message. `commits` counts what is shown, a merge once for each parent.
 */
export async function showHistory(
  repository: { readonly dir: string },
  base: Oid,
  commit: Oid,
  asked: Required<Pick<DiffAsked, 'paths' | 'maxBytes'>> & Pick<DiffAsked, 'limits' | 'everything'>,
): Promise<ShownDiff & { readonly commits: number }> {
  if (asked.paths.length === 0) return { text: '', truncated: false, legible: true, commits: 0 };
  const how = ['-p', '-m', '--full-index', '--no-renames', '--no-color', '--no-ext-diff', '--no-textconv'];
  // a side line that a merge threw away is pushed too
  const which = ['--full-history', '--reverse', '--format=commit %H', `${requireOid(base)}..${requireOid(commit)}`];
  try {
    const { stdout } = await git(['log', ...how, ...allText(asked), ...which, '--', ...asked.paths], {
      gitDir: repository.dir,
      limits: { ...asked.limits, gitOutputBytes: mostHeld },
    });
    // content stands behind a sign of its own: none begins a line so
    const commits = stdout.toString('latin1').match(/^commit [0-9a-f]{40,64}$/gm)?.length ?? 0;
    return { ...cut(stdout, asked.maxBytes), commits };
  } catch (error) {
    if (error instanceof FarmError && error.code === 'too_large')
      return { text: '', truncated: true, legible: false, commits: 0 };
    throw error;
  }
}

const allText = ({ everything }: Pick<DiffAsked, 'everything'>): readonly string[] =>
  everything === true ? ['--text'] : [];

function cut(bytes: Buffer, most: number): ShownDiff {
  const legible = isUtf8(bytes) && !bytes.includes(0);
  if (bytes.length <= most) return { text: bytes.toString(), truncated: false, legible };
  // a negative offset would count from the end
  const end = most < 1 ? -1 : bytes.lastIndexOf(0x0a, most - 1);
  return { text: bytes.subarray(0, end < 0 ? 0 : end + 1).toString(), truncated: true, legible };
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
