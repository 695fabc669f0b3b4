import { FarmError } from '#contracts';
import { bundleRef, readBundleHeader } from './bundle.js';
import { git } from './git.js';
import type { GitLimits } from './git-limits.js';
import { type Oid, requireOid } from './oid.js';

export interface ResultWanted {
  /** The user's checkout. */
  readonly dir: string;
  /** From the controller (`bundleFor`). */
  readonly bundle: string;
  readonly commit: Oid;
  /** The local branch to make. */
  readonly branch: string;
  /** Also switch to it; only on a clean working tree. */
  readonly switchTo?: boolean;
  readonly limits?: Partial<GitLimits>;
}

/**
 * Brings a Task's result into the user's repository as a local branch (D24). The working tree is not touched, unless
 * `switchTo` is said and it has no changes. An existing branch only moves forward, and never under a working tree.
 *
 * @throws FarmError `conflict` when another branch has the name, or the tree has changes · `source_refused` for a damaged bundle, no
 * repository, or one without the commit that the Task started from ·
 * `invalid_input` for a name that is no branch
 */
export async function fetchResult(
  wanted: ResultWanted,
): Promise<{ readonly branch: string; readonly switched: boolean }> {
  const commit = requireOid(wanted.commit);
  const call = {
    cwd: wanted.dir,
    settings: 'user',
    ...(wanted.limits === undefined ? {} : { limits: wanted.limits }),
  } as const;
  await requireRepository(call);
  const named = await git(['check-ref-format', '--branch', wanted.branch], { ...call, accept: 'any' });
  if (named.exitCode !== 0 || named.text !== wanted.branch)
    throw new FarmError('invalid_input', 'This is not a name for a branch.');
  if (wanted.switchTo === true) await requireClean(call);
  await bringIn(wanted, commit, call);
  if (wanted.switchTo !== true) return { branch: wanted.branch, switched: false };
  const went = await git(['switch', '--quiet', '--no-guess', wanted.branch], { ...call, accept: 'any' });
  if (went.exitCode === 0) return { branch: wanted.branch, switched: true };
  throw new FarmError('conflict', 'The branch is there, but switching to it would overwrite files.', {
    hint: `Move the untracked files away, then run \`git switch ${wanted.branch}\`.`,
  });
}

type UserCall = { readonly cwd: string; readonly settings: 'user'; readonly limits?: Partial<GitLimits> };

async function requireRepository(call: UserCall): Promise<void> {
  const found = await git(['rev-parse', '--git-dir'], { ...call, accept: 'any' });
  if (found.exitCode === 0) return;
  throw new FarmError('source_refused', 'There is no git repository here to bring the branch into.', {
    hint: 'Go into the checkout that the Task was started from, or name it with --into DIR.',
    cause: new Error(found.stderr.slice(-2048)),
  });
}

async function requireClean(call: UserCall): Promise<void> {
  const changes = await git(['status', '--porcelain', '--untracked-files=no', '--ignore-submodules=none'], call);
  if (changes.text === '') return;
  throw new FarmError('conflict', 'The working tree has changes; it was not touched.', {
    hint: 'Commit or stash them first, or check the result out without switching to it.',
  });
}

async function bringIn(wanted: ResultWanted, commit: Oid, call: UserCall): Promise<void> {
  const ref = `refs/heads/${wanted.branch}`;
  const now = await git(['rev-parse', '--verify', '--quiet', ref], { ...call, accept: 'any' });
  if (now.text === commit) return;
  if (now.exitCode === 0 && !wanted.branch.startsWith('longshore/')) throw otherBranch();
  const header = await readBundleHeader(wanted.bundle);
  if (!header.refs.some(({ name, oid }) => name === bundleRef && oid === commit)) {
    throw new FarmError('source_refused', 'The bundle does not hold the commit of the result.');
  }
  const plain = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules'];
  const fetched = await git(['fetch', ...plain, '--', wanted.bundle, `${bundleRef}:${ref}`], {
    ...call,
    config: { 'protocol.file.allow': 'always', 'fetch.fsckObjects': 'false', 'fetch.prune': 'false' },
    accept: 'any',
  });
  if (fetched.exitCode === 0) return;
  const cause = new Error(fetched.stderr.slice(-2048));
  if (/lacks these prerequisite commits|not have the prerequisite|prerequisite commit/i.test(fetched.stderr)) {
    throw new FarmError('source_refused', 'This repository lacks the commit that the Task started from.', {
      hint: 'Go into the checkout that the Task was started from, or name it or a full clone of it with --into DIR.',
      cause,
    });
  }
  if (now.exitCode === 0 || /refusing to fetch|cannot lock ref|exists/.test(fetched.stderr)) {
    throw otherBranch(cause);
  }
  throw new FarmError('source_refused', 'The bundle of the result could not be read.', { cause });
}

/** Only our own branches go on by themselves: a person's is never moved, not even forward. */
function otherBranch(cause?: Error): FarmError {
  return new FarmError('conflict', 'There is another branch of this name; it was not touched.', {
    hint: 'Choose another name for the branch.',
    ...(cause && { cause }),
  });
}
