import { join } from 'node:path';
import { withFolder } from '../folders.js';
import type { GitLimits } from '../git-limits.js';
import type { Oid } from '../oid.js';
import { initBare } from '../store.js';
import { fetchOrigin } from './fetch-origin.js';
import { inspectSource, type SourceReport } from './inspect-source.js';
import type { RemoteCall } from './remote.js';

/** Large enough for attributes, .gitmodules and pointers. */
const blobBytes = 16 * 1024;

/**
 * What one branch of the origin points to and does not hold, from its last commit alone and without its large files. Nothing when
 * that takes too long or is refused: who asks has been told already that the origin answers.
 */
export async function glanceAt(
  remote: RemoteCall,
  wanted: { readonly commit: Oid; readonly branch: string; readonly scratch: string },
  options: { readonly limits?: Partial<GitLimits>; readonly seconds: number; readonly signal?: AbortSignal },
): Promise<SourceReport | undefined> {
  return withFolder(wanted.scratch, async (folder) => {
    const dir = join(folder, 'glance.git');
    await initBare(dir);
    const limits = { ...options.limits, gitSeconds: options.seconds };
    const fetched = await fetchOrigin(dir, remote, {
      options: ['--depth=1', `--filter=blob:limit=${blobBytes}`],
      refspecs: [`+refs/heads/${wanted.branch}:refs/heads/glance`],
      limits,
      signal: options.signal,
    }).catch(() => undefined);
    if (fetched?.exitCode !== 0) return undefined;
    return inspectSource(dir, wanted.commit, limits).catch(() => undefined);
  });
}
