import { createHash } from 'node:crypto';
import { readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import { writeBundle } from './bundle.js';
import { withFolder } from './folders.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import { type Oid, requireOid } from './oid.js';
import { holdsCommit, type ObjectStore } from './store.js';
import { readSubmodulesRef } from './submodules-ref.js';

interface BundleAsked {
  /** Commits that the asker already has; unknown ones are passed over. */
  readonly have?: readonly Oid[];
  /** With the submodules that the store has pinned: for a workspace, not for a person. */
  readonly submodules?: boolean;
  readonly limits?: Partial<GitLimits>;
}

/**
 * The path of a bundle of the commit's history under the one ref `refs/longshore/base`. Kept as a file by content and never
 * changed, so that a download can go on where it broke off. One that nobody asked for in a day goes.
 *
 * @throws FarmError `not_found` when the store does not hold the commit · `disk_full` · `timeout`
 */
export async function bundleFor(store: ObjectStore, commit: Oid, asked: BundleAsked = {}): Promise<string> {
  if (!(await holdsCommit(store.dir, requireOid(commit))))
    throw new FarmError('not_found', 'The store does not hold this commit.');
  const have = await known(store, asked.have ?? [], commit);
  const cache = join(store.dir, 'bundles');
  const submodules = asked.submodules === true ? await readSubmodulesRef(store.dir) : undefined;
  const parts = [...have, ...(submodules === undefined ? [] : [submodules])];
  const part = parts.length === 0 ? 'whole' : createHash('sha256').update(parts.join()).digest('hex').slice(0, 32);
  const path = join(cache, `${commit}-${part}.bundle`);
  if (await touched(path)) return path;
  await dropUnused(cache);
  return withFolder(cache, async (folder) => {
    const draft = join(folder, 'bundle');
    const limits = gitLimits(asked.limits);
    const wanted = { commit, have, path: draft, maxBytes: limits.storeBytes, ...(submodules && { submodules }) };
    await writeBundle({ gitDir: store.dir, limits }, wanted);
    await rename(draft, path);
    return path;
  });
}

// at most a handful: more would say nothing new, and each costs a look-up
const haveMost = 32;

async function known(store: ObjectStore, have: readonly Oid[], commit: Oid): Promise<readonly Oid[]> {
  const found: Oid[] = [];
  for (const oid of [...new Set(have)].sort().slice(0, haveMost)) {
    // the commit itself as a prerequisite would make an empty bundle, which git refuses to read
    if (oid !== commit && (await holdsCommit(store.dir, requireOid(oid)))) found.push(oid);
  }
  return found;
}

const unusedMs = 24 * 3_600_000;

async function dropUnused(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    const path = join(cache, name);
    const seen = await stat(path).catch(() => undefined);
    if (seen !== undefined && Date.now() - seen.mtimeMs > unusedMs) await rm(path, { recursive: true, force: true });
  }
}

/** Marks the file as used, so that it stays. */
async function touched(path: string): Promise<boolean> {
  try {
    await stat(path);
    const now = new Date();
    await utimes(path, now, now);
    return true;
  } catch {
    return false;
  }
}
