import { createReadStream } from 'node:fs';
import { FarmError, objectPaths } from '#contracts';
import type { WrittenFile } from '#git';
import { type Farm, roadTo } from '../controller/farm.js';
import { untilAnswered } from '../controller/until-answered.js';

interface PackSent {
  readonly job: string;
  readonly epoch: number;
  readonly commit: string;
  readonly pack: WrittenFile;
  /** At each try the one that the last beat brought. */
  readonly jobToken: () => string;
  readonly signal?: AbortSignal;
}

/** `rescue`: the lease is over and the pack is kept all the same (D20, H10). `stale`: it is over, and nothing was kept. */
export type PackTaken = 'accepted' | 'rescue' | 'stale';

/**
 * Brings a pack up, write-once under its job and epoch, until the farm has answered.
 *
 * @throws FarmError `commit_refused` and other refusals · the abort's reason
 */
export async function sendPack(farm: Farm, sent: PackSent): Promise<PackTaken> {
  const { job, epoch, commit, pack, jobToken, signal } = sent;
  try {
    await untilAnswered(
      () =>
        farm.put(roadTo(objectPaths.pack, { job, epoch, commit }), () => createReadStream(pack.path), pack.bytes, {
          jobToken: jobToken(),
          ...(signal === undefined ? {} : { signal }),
        }),
      // a full disk of the farm: somebody makes room, and the lease is held meanwhile
      { signal, again: ['disk_full'] },
    );
    return 'accepted';
  } catch (error) {
    if (error instanceof FarmError && error.code === 'stale_lease') return error.kept ? 'rescue' : 'stale';
    throw error;
  }
}
