import { git } from '../git.js';
import { type GitLimits, gitLimits } from '../git-limits.js';
import { isOid, type Oid } from '../oid.js';
import type { RemoteCall } from './remote.js';
import { remoteFailure } from './remote-failure.js';

export interface RemoteHead {
  /** The branch that the origin's HEAD names; none in an empty repository or where HEAD is detached. */
  readonly defaultBranch: string | undefined;
  /** Commit of each branch that was asked for and is there, and of HEAD. */
  readonly commits: ReadonlyMap<string, Oid>;
}

/**
 * Asks the origin for its HEAD and these branches: the cheapest call that shows whether it answers and takes the credential.
 *
 * @throws FarmError source_unavailable, source_refused, with the reason and a way out; timeout
 */
export async function listRemote(
  { url, call }: RemoteCall,
  branches: readonly string[],
  options: { readonly limits?: Partial<GitLimits>; readonly signal?: AbortSignal } = {},
): Promise<RemoteHead> {
  const refs = branches.map((branch) => `refs/heads/${branch}`);
  const answer = await git(['ls-remote', '--symref', '--', url, 'HEAD', ...refs], {
    ...call,
    accept: 'any',
    durable: false,
    limits: { ...options.limits, gitSeconds: Math.min(gitLimits(options.limits).gitSeconds, 60) },
    ...(options.signal && { signal: options.signal }),
  });
  if (answer.exitCode !== 0) throw remoteFailure(answer.stderr);
  return readHeads(answer.text);
}

function readHeads(text: string): RemoteHead {
  let defaultBranch: string | undefined;
  const commits = new Map<string, Oid>();
  for (const line of text.split('\n')) {
    const [what = '', ref = ''] = line.split('\t');
    if (what.startsWith('ref: refs/heads/') && ref === 'HEAD') defaultBranch = what.slice('ref: refs/heads/'.length);
    else if (isOid(what)) commits.set(ref.replace(/^refs\/heads\//, ''), what);
  }
  return { defaultBranch, commits };
}
