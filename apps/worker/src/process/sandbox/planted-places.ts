import type { Stats } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { FarmError } from '#contracts';
import { isBeneath, type Mount } from './bubblewrap.js';

type Shown = Extract<Mount, { from: string }>;

/**
 * What the sandbox mounts and writes for itself must be nothing that an agent can put in its place (E2).
 *
 * @throws FarmError `misconfigured` where the own folder can be written inside
 */
export async function refuseReach(ownFolder: string, mounts: readonly Mount[]): Promise<void> {
  const own = await realpath(ownFolder);
  for (const mount of mounts) {
    if (mount.kind !== 'write' || !isBeneath(own, await realpath(mount.from))) continue;
    const isCovered = mounts.some(
      ({ kind, at }) => kind === 'cover' && isBeneath(ownFolder, at) && isBeneath(at, mount.at),
    );
    if (isCovered) continue;
    throw new FarmError('misconfigured', 'A folder that sessions may write holds the folders of the sandbox itself.', {
      hint: "Let no account's folder hold the worker's data folder.",
    });
  }
}

/**
 * A place inside a folder that an agent wrote is made by bubblewrap on the way to its mount, while the whole machine is in reach
 * yet. A symlink that an earlier process left on that way would lead there.
 *
 * @throws FarmError `misconfigured` where a symlink, or no folder, stands on the way
 */
export async function refusePlanted(mounts: readonly Mount[]): Promise<void> {
  for (const mount of mounts) {
    const above = nearestAbove(mount, mounts);
    if (above?.kind !== 'write') continue;
    const place = join(above.from, relative(above.at, mount.at));
    for (let path = mount.kind === 'link' ? dirname(place) : place; path !== above.from; path = dirname(path)) {
      const found = await lookAt(path);
      if (found === undefined || found.isDirectory() || (path === place && found.isFile())) continue;
      throw new FarmError(
        'misconfigured',
        'A session left a symlink where the sandbox shows a folder to the next one.',
      );
    }
  }
}

function nearestAbove({ at }: Mount, mounts: readonly Mount[]): Shown | undefined {
  let nearest: Shown | undefined;
  for (const mount of mounts) {
    if (!('from' in mount) || mount.at === at || !isBeneath(at, mount.at)) continue;
    if (nearest === undefined || isBeneath(mount.at, nearest.at)) nearest = mount;
  }
  return nearest;
}

function lookAt(path: string): Promise<Stats | undefined> {
  // nothing there, also beneath what is no folder
  return lstat(path).catch(() => undefined);
}
