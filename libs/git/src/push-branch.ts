import { FarmError } from '#contracts';
import { git } from './git.js';
import type { GitLimits } from './git-limits.js';
import { type Oid, requireOid } from './oid.js';
import type { RemoteCall } from './remote/remote.js';
import { remoteFailure } from './remote/remote-failure.js';
import type { ObjectStore } from './store.js';

export interface Push {
  readonly commit: Oid;
  /** Without `refs/heads/`. */
  readonly branch: string;
  /** What the branch must be at the origin now; undefined: it must not be there (force-with-lease, H39). */
  readonly expected: Oid | undefined;
  readonly limits?: Partial<GitLimits>;
  readonly signal?: AbortSignal;
}

/** `moved`: the branch is not what was expected, or somebody else is at it at this moment; nothing was done. */
export type Pushed = 'pushed' | 'moved';

/** What a server says when another push of the branch was faster than its look, or holds its lock. */
const atIt = /^\[remote rejected\] \((failed to update ref|failed to lock|cannot lock ref|incorrect old value)/;

/**
 * Pushes one commit to one branch of an origin, and only where that branch is what the caller recorded. Tags, hooks, submodules and
 * other refs are left out. The same push again is the same act.
 *
 * @throws FarmError `conflict` (the origin declines the branch: protected, a hook, a quota), those of `remoteFailure`, `timeout`
 */
export async function pushBranch(store: ObjectStore, { url, call }: RemoteCall, push: Push): Promise<Pushed> {
  const commit = requireOid(push.commit);
  const ref = `refs/heads/${push.branch}`;
  await git(['check-ref-format', ref]);
  const expected = push.expected === undefined ? '' : requireOid(push.expected);
  const answer = await git(
    [
      'push',
      '--porcelain',
      '--no-verify',
      '--no-follow-tags',
      '--no-signed',
      '--recurse-submodules=no',
      `--force-with-lease=${ref}:${expected}`,
      '--',
      url,
      `${commit}:${ref}`,
    ],
    {
      ...call,
      gitDir: store.dir,
      accept: 'any',
      ...(push.limits && { limits: push.limits }),
      ...(push.signal && { signal: push.signal }),
    },
  );
  if (answer.exitCode === 0) return 'pushed';
  const [, said = ''] = /^!\t[^\t]*\t(.*)$/m.exec(answer.text) ?? [];
  if (said.startsWith('[rejected]') || atIt.test(said)) return 'moved';
  const cause = new Error(`${said} ${answer.stderr.slice(-2048)}`);
  if (said.startsWith('[remote rejected]')) {
    throw new FarmError('conflict', 'The origin took the commits and declines the branch.', {
      hint: 'A protected branch, a hook or a quota of the origin: the log of the controller has its words.',
      cause,
    });
  }
  throw remoteFailure(answer.stderr);
}
