import { rm } from 'node:fs/promises';
import { FarmError } from '#contracts';
import { gitToFile, type WrittenFile } from './git.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import { type Oid, requireOid } from './oid.js';

export interface PackWanted {
  readonly gitDir: string;
  readonly commit: Oid;
  /** Own commits, nested histories, contents of submodules, notes. */
  readonly extra?: readonly Oid[];
  /** What the controller has: left out. */
  readonly base: Oid;
  /** Commits that it has beside the base. */
  readonly known?: readonly Oid[];
  /** The file to write. */
  readonly out: string;
  readonly limits?: Partial<GitLimits>;
}

/**
 * Writes the thin pack that goes up to the controller.
 *
 * @throws FarmError `workspace_too_large` when it passes the limit of a pack · `disk_full` · `timeout`
 */
export async function packFor(wanted: PackWanted): Promise<WrittenFile> {
  const limits = gitLimits(wanted.limits);
  const known = [wanted.base, ...(wanted.known ?? [])].map((oid) => `^${requireOid(oid)}\n`).join('');
  const tips = [wanted.commit, ...(wanted.extra ?? [])].map(requireOid);
  await rm(wanted.out, { force: true });
  return gitToFile(
    ['pack-objects', '--quiet', '--revs', '--thin', '--delta-base-offset', '--stdout'],
    { gitDir: wanted.gitDir, limits, input: `${tips.join('\n')}\n${known}` },
    { path: wanted.out, maxBytes: limits.packBytes },
  ).catch((fault: unknown) => {
    if (!(fault instanceof FarmError) || fault.code !== 'too_large') throw fault;
    throw new FarmError('workspace_too_large', 'The changes of the workspace make a larger pack than may go up.');
  });
}
