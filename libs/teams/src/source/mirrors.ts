import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { limits } from '#contracts';
import { isUnused } from '#git';
import type { TeamParts } from '../parts.js';
import { repositorySql } from '../sql.js';

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

/** A private folder for what one call of git needs. */
export async function scratchOf({ sources }: MirrorParts): Promise<string> {
  const folder = join(sources.mirrorsFolder, 'scratch');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

export async function removeMirror(parts: MirrorParts, name: string): Promise<void> {
  await inMirror(parts, name, (dir) => rm(dir, { recursive: true, force: true }));
}

/** Mirrors that no Task used for two weeks. Answers how many went. */
export async function expireMirrors(parts: MirrorParts, unusedMs: number = limits.mirrorUnusedMs): Promise<number> {
  let gone = 0;
  for (const file of await readdir(parts.sources.mirrorsFolder).catch(() => [])) {
    const name = /^([0-9a-f]{64})\.git$/.exec(file)?.[1];
    if (name === undefined || !(await isUnused(join(parts.sources.mirrorsFolder, file), unusedMs))) continue;
    await removeMirror(parts, name);
    gone += 1;
  }
  return gone;
}
