import { copyFile, link, lstat, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import { admitBundle } from './admit-bundle.js';
import { bundleRef, readBundleHeader } from './bundle.js';
import { git } from './git.js';
import type { GitLimits } from './git-limits.js';
import type { Oid } from './oid.js';
import { holdsCommit, initBare } from './store.js';
import { copySubmodulesRef, submodulesRef } from './submodules-ref.js';

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
  const thin = header.prerequisites.length > 0;
  await admitBundle({ gitDir, quarantineFolder: join(gitDir, 'quarantine'), path, header, thin, limits });
  const submodules = header.refs.find(({ name }) => name === submodulesRef);
  if (submodules) await git(['update-ref', submodulesRef, submodules.oid], { gitDir, durable: false });
}

/**
 * Makes a GIT_DIR out of another one of ours: all packs of it, as hard links, and its few settings. Both own their packs, neither
 * is hurt when the other goes (H19), and packs are never changed in place. Starts no git: a workspace waits for it.
 */
export async function linkGitDir(from: string, to: string): Promise<void> {
  for (const folder of ['objects/pack', 'objects/info', 'refs/heads', 'info'])
    await mkdir(join(to, folder), { recursive: true });
  for (const name of ['config', 'info/attributes']) await copyFile(join(from, name), join(to, name));
  const packs = await readdir(join(from, 'objects', 'pack'));
  for (const name of packs) await link(join(from, 'objects', 'pack', name), join(to, 'objects', 'pack', name));
  await copySubmodulesRef(from, to);
  // last: it says that the rest is there
  await copyFile(join(from, 'HEAD'), join(to, 'HEAD'));
}

async function makeGitDir(gitDir: string): Promise<void> {
  if ((await lstat(join(gitDir, 'HEAD')).catch(() => undefined)) !== undefined) return;
  await mkdir(gitDir, { recursive: true });
  await initBare(gitDir);
}
