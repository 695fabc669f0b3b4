import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { limits } from '#contracts';
import { isUnused } from '#git';
import type { TeamParts } from '../parts.js';
import { repositorySql } from '../sql/teams.js';
import { lfsBeside } from './lfs/task-lfs.js';

type MirrorParts = Pick<TeamParts, 'database' | 'sources'>;

/**
 * Works in a mirror, with no other controller in it. Undefined, and nothing done, while another one is: whoever asked looks again.
 */
export function inMirror<T>(
  parts: MirrorParts,
  name: string,
  work: (dir: string) => Promise<T>,
): Promise<T | undefined> {
  return parts.database.session(async (session) => {
    const lock = await session.first(repositorySql.tryMirror, { key: name });
    if (lock?.mine !== true) return undefined;
    return work(join(parts.sources.mirrorsFolder, `${name}.git`));
  });
}

/**
 * A private folder for what one call of git needs: credentials are in it while the call lasts. What a killed controller left there
 * goes with `expireMirrors`.
 */
export async function scratchOf({ sources }: MirrorParts): Promise<string> {
  const folder = join(sources.mirrorsFolder, 'scratch');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

export async function removeMirror(parts: MirrorParts, name: string): Promise<void> {
  await inMirror(parts, name, async (dir) => {
    for (const folder of [lfsBeside(dir), dir]) await rm(folder, { recursive: true, force: true });
  });
}

/** Older than any call of git may last, so it is nobody's any more. */
const scratchMs = 2 * limits.fetchSeconds * 1000;

async function removeLeftCredentials(parts: MirrorParts): Promise<void> {
  const folder = await scratchOf(parts);
  for (const name of await readdir(folder)) {
    const seen = await stat(join(folder, name)).catch(() => undefined);
    if (seen !== undefined && Date.now() - seen.mtimeMs > scratchMs)
      await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** Mirrors that no Task used for two weeks, and what calls of killed controllers left. Answers how many mirrors went. */
export async function expireMirrors(parts: MirrorParts, unusedMs: number = limits.mirrorUnusedMs): Promise<number> {
  let gone = 0;
  await removeLeftCredentials(parts);
  for (const file of await readdir(parts.sources.mirrorsFolder).catch(() => [])) {
    const name = /^([0-9a-f]{64})\.git$/.exec(file)?.[1];
    if (name === undefined || !(await isUnused(join(parts.sources.mirrorsFolder, file), unusedMs))) continue;
    await removeMirror(parts, name);
    gone += 1;
  }
  return gone;
}
