import { statfs } from 'node:fs/promises';
import { FarmError, limits } from '#contracts';

/** Names that a checkout and its repository may need. */
const inodesFloor = 20_000;

/**
 * Looks before work is taken on, so that a full disk is found here and not in the middle of a capture.
 *
 * @throws FarmError `disk_full`
 */
export async function requireRoom(path: string, bytesNeeded = 0): Promise<void> {
  const { bavail, bsize, files, ffree } = await statfs(path);
  const roomy = bavail * bsize - bytesNeeded >= limits.diskFloorBytes;
  // some file systems count no inodes and say 0
  const names = files === 0 || ffree >= inodesFloor;
  if (roomy && names) return;
  throw new FarmError('disk_full', `The worker's disk is short of ${roomy ? 'inodes' : 'room'}.`, {
    hint: 'Free some space on the disk of the worker, or give it a folder on another one.',
  });
}
