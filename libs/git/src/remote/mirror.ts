import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FarmError } from '#contracts';
import { writeBundle } from '../bundle.js';
import { withFolder } from '../folders.js';
import { git } from '../git.js';
import { type GitLimits, gitLimits } from '../git-limits.js';
import { tolerated } from '../import-bundle.js';
import { isOid, type Oid, oidOf } from '../oid.js';
import { holdsCommit, initBare } from '../store.js';
import { fetchOrigin } from './fetch-origin.js';
import type { RemoteCall } from './remote.js';
import { isMirrorDamaged, remoteFailure } from './remote-failure.js';

interface MirrorOptions {
  readonly limits?: Partial<GitLimits>;
  readonly signal?: AbortSignal;
}

/** Packs of small fetches that a mirror may gather before they are put together. */
const packsMost = 50;

/**
 * Brings the mirror's branches and tags to where the origin has them now, made first when it is not there. Hooks, filters,
 * submodules and maintenance are off; no file may grow past the limit of a source. A mirror is a cache: one that is damaged is
 * thrown away and fetched again. One caller at a time for each folder.
 *
 * @throws FarmError source_unavailable, source_refused (with a way out), timeout, disk_full, unavailable (the signal)
 */
export async function fetchMirror(dir: string, remote: RemoteCall, options: MirrorOptions = {}): Promise<void> {
  const fresh = !(await exists(join(dir, 'HEAD')));
  if (fresh) await makeMirror(dir);
  await removeLeftovers(dir);
  const answer = await fetchInto(dir, remote, options);
  if (answer.exitCode !== 0) {
    if (fresh || !isMirrorDamaged(answer.stderr)) {
      if (fresh) await rm(dir, { recursive: true, force: true });
      throw remoteFailure(answer.stderr);
    }
    await rm(dir, { recursive: true, force: true });
    return fetchMirror(dir, remote, options);
  }
  await checkMirror(dir, gitLimits(options.limits));
  const now = new Date();
  await utimes(join(dir, 'HEAD'), now, now);
}

async function makeMirror(dir: string): Promise<void> {
  await mkdir(dirname(dir), { recursive: true, mode: 0o700 });
  await withFolder(dirname(dir), async (folder) => {
    const draft = join(folder, 'mirror.git');
    await initBare(draft);
    await rename(draft, dir);
  });
}

function fetchInto(dir: string, remote: RemoteCall, { limits, signal }: MirrorOptions) {
  return fetchOrigin(dir, remote, {
    options: ['--prune', '--force'],
    refspecs: ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'],
    config: Object.fromEntries(tolerated.map((name) => [`fetch.fsck.${name}`, 'ignore'])),
    limits: { ...limits, gitSeconds: gitLimits(limits).fetchSeconds },
    signal,
  });
}

/** What is past its limits goes: the next fetch would find it there and ask for little. */
async function checkMirror(dir: string, limits: GitLimits): Promise<void> {
  const counted = await git(['count-objects', '-v'], { gitDir: dir });
  const read = (name: string): number => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(counted.text)?.[1] ?? 0);
  const tooMany = read('count') + read('in-pack') > limits.sourceObjects;
  if (tooMany || (read('size') + read('size-pack')) * 1024 > limits.storeBytes) {
    await rm(dir, { recursive: true, force: true });
    throw new FarmError('source_refused', 'The repository is larger than the limit of a source.', {
      hint: 'Start from a smaller repository, or upload a checkout.',
    });
  }
  if (read('packs') > packsMost) await tidyMirror(dir, limits);
}

/** Puts a mirror's packs together and drops what no branch or tag reaches any more. Nothing borrows from it (H19). */
export async function tidyMirror(dir: string, changed: Partial<GitLimits> = {}): Promise<void> {
  const limits = gitLimits(changed);
  await git(['gc', '--quiet', '--prune=now'], {
    gitDir: dir,
    durable: false,
    limits: { ...limits, gitSeconds: limits.fetchSeconds },
  });
}

/** Drafts of a fetch that was killed. Whoever holds the mirror's lock is the only one in it. */
async function removeLeftovers(dir: string): Promise<void> {
  const packs = join(dir, 'objects', 'pack');
  const names = await readdir(packs).catch(() => []);
  for (const name of names) if (name.startsWith('tmp_')) await rm(join(packs, name), { force: true });
}

/** Removes mirrors that no fetch has used for so long. The caller keeps others out of them. */
export async function isUnused(dir: string, forMs: number): Promise<boolean> {
  const seen = await stat(join(dir, 'HEAD')).catch(() => undefined);
  return seen === undefined || Date.now() - seen.mtimeMs > forMs;
}

/**
 * The commit that a branch, a tag or a full commit id names in the mirror, branch first. A commit counts only while some branch
 * or tag of the origin still reaches it: what was taken back there is not to be had here.
 *
 * @throws FarmError source_unavailable
 */
export async function commitOf(dir: string, ref: string): Promise<Oid> {
  const names = /^refs\/(heads|tags)\//.test(ref) ? [ref] : [`refs/heads/${ref}`, `refs/tags/${ref}`];
  for (const name of names) {
    const found = await git(['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`], {
      gitDir: dir,
      accept: 'any',
    });
    if (found.exitCode === 0) return oidOf(found.text);
  }
  if (isOid(ref) && (await holdsCommit(dir, ref)) && (await isReached(dir, ref))) return ref;
  throw new FarmError(
    'source_unavailable',
    'The origin has no branch, tag or commit of the name that the Task asks for.',
    {
      hint: 'A commit is named by its whole id, and must be in a branch or tag there.',
    },
  );
}

/** Names of a mirror's branches, the one with the newest commit first. */
export async function branchesOf(dir: string, most: number): Promise<readonly string[]> {
  const format = '--format=%(refname:lstrip=2)';
  const found = await git(['for-each-ref', `--count=${most}`, '--sort=-committerdate', format, 'refs/heads'], {
    gitDir: dir,
  });
  return found.text === '' ? [] : found.text.trim().split('\n');
}

async function isReached(dir: string, commit: Oid): Promise<boolean> {
  const found = await git(['for-each-ref', '--count=1', `--contains=${commit}`, 'refs/heads', 'refs/tags'], {
    gitDir: dir,
  });
  return found.text !== '';
}

/** Writes the whole history of a commit as a bundle: a Task's store takes it in as its own objects (H19). */
export async function bundleOfMirror(
  dir: string,
  wanted: { readonly commit: Oid; readonly path: string; readonly limits?: Partial<GitLimits> },
): Promise<void> {
  const limits = gitLimits(wanted.limits);
  await writeBundle(
    { gitDir: dir, limits, durable: false },
    { commit: wanted.commit, path: wanted.path, maxBytes: limits.sourceBytes },
  );
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
