import { randomUUID } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import { bundleOfMirror, importBundle, type ObjectStore } from '#git';
import type { TeamParts } from '../parts.js';

/** A fetch that took all its time is told as what it is. */
export function tooSlow(error: unknown): never {
  if (!(error instanceof FarmError) || error.code !== 'timeout') throw error;
  throw new FarmError(
    'source_unavailable',
    'The origin did not send the repository in the time that a fetch may take.',
    {
      hint: 'Resume the Task to try again, or start from a checkout of your own.',
      cause: error,
    },
  );
}

/** As a bundle of the whole history, judged like one that a person sends. Answers the bytes of it. */
export async function giveToStore(
  store: ObjectStore,
  from: { dir: string; scratch: string; commit: string; limits: NonNullable<TeamParts['gitLimits']> },
): Promise<number> {
  const path = join(from.scratch, `${randomUUID()}.bundle`);
  try {
    await bundleOfMirror(from.dir, { commit: from.commit, path, limits: from.limits });
    await importBundle(store, path, { limits: from.limits });
    return (await stat(path)).size;
  } finally {
    await rm(path, { force: true });
  }
}
