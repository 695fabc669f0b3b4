import { link, lstat, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import { bundleRef, readBundleHeader } from './bundle.js';
import type { GitLimits } from './git-limits.js';
import type { Oid } from './oid.js';
import { indexPack, inQuarantine } from './quarantine.js';
import { holdsCommit, initBare } from './store.js';

/** Takes the bundle into our GIT_DIR, made first when it is not there. A bundle that is not needed is not asked for. */
export async function fillGitDir(
  gitDir: string,
  bundle: string | (() => Promise<string>),
  base: Oid,
  limits: GitLimits,
): Promise<void> {
  await makeGitDir(gitDir);
  if (await holdsCommit(gitDir, base)) return;
  const path = typeof bundle === 'string' ? bundle : await bundle();
  const header = await readBundleHeader(path);
  if (!header.refs.some(({ name, oid }) => name === bundleRef && oid === base)) {
    throw new FarmError('source_refused', 'The bundle does not hold the base of the workspace.');
  }
  await inQuarantine(gitDir, join(gitDir, 'quarantine'), async (quarantine) => {
    await indexPack({
      gitDir,
      quarantine,
      pack: path,
      offset: header.packOffset,
      thin: header.prerequisites.length > 0,
      maxBytes: limits.storeBytes,
      maxObjects: limits.sourceObjects,
      strict: false,
      code: 'source_refused',
      limits,
      durable: false,
    });
    await quarantine.admit();
  });
}

/**
 * Gives a GIT_DIR all packs of another one of ours, as hard links: both own them, and neither is hurt when the other goes (H19).
 * Packs are never changed in place.
 */
export async function linkPacks(from: string, to: string): Promise<void> {
  await makeGitDir(to);
  const [source, target] = [join(from, 'objects', 'pack'), join(to, 'objects', 'pack')];
  for (const name of await readdir(source)) await link(join(source, name), join(target, name));
}

async function makeGitDir(gitDir: string): Promise<void> {
  if ((await lstat(join(gitDir, 'HEAD')).catch(() => undefined)) !== undefined) return;
  await mkdir(gitDir, { recursive: true });
  await initBare(gitDir);
}
