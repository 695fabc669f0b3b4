import { statfs } from 'node:fs/promises';
import { FarmError, limits } from '#contracts';

/** Names that a checkout and its repository may need. */
const inodesFloor = 20_000;

export interface DiskRoom {
  readonly freeBytes: number;
  /** What is short; nothing where there is room. */
  readonly short?: 'bytes' | 'inodes';
}

export async function lookForRoom(path: string, floorBytes: number): Promise<DiskRoom> {
  const { bavail, bsize, files, ffree } = await statfs(path);
  const freeBytes = bavail * bsize;
  if (freeBytes < floorBytes) return { freeBytes, short: 'bytes' };
  // some file systems count no inodes and say 0
  if (files > 0 && ffree < inodesFloor) return { freeBytes, short: 'inodes' };
  return { freeBytes };
}

/**
 * Looks before work is taken on, so that a full disk is found here and not in the middle of a capture.
 *
 * @throws FarmError `disk_full`
 */
export async function requireRoom(path: string, floorBytes: number = limits.diskFloorBytes): Promise<void> {
  const { short } = await lookForRoom(path, floorBytes);
  if (short === undefined) return;
  throw new FarmError('disk_full', `The worker's disk is short of ${short === 'bytes' ? 'room' : 'inodes'}.`, {
    hint: 'Free some space on the disk of the worker, or give it a folder on another one.',
  });
}
