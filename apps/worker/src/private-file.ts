import { randomUUID } from 'node:crypto';
import { type FileHandle, lstat, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FarmError, systemCodeOf } from '#contracts';

/** Replaces a file of mode 0600 as a whole: after a crash it is the old one or the new one, and on disk. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  let handle: FileHandle | undefined;
  try {
    handle = await open(draft, 'wx', 0o600);
    await handle.writeFile(content);
    await handle.sync();
    await handle.close();
    handle = undefined;
    await rename(draft, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await handle?.close();
    await rm(draft, { force: true });
    throw isDiskFull(error) ? diskFullError(error) : error;
  }
}

/** The content, or nothing when there is no such file. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Makes a folder of mode 0700 in one that is there; an older one stays.
 *
 * @throws FarmError `misconfigured` where something else stands there, a symlink to a folder too
 */
export async function makePrivateFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
    if ((await lstat(path)).isDirectory()) return;
    throw new FarmError('misconfigured', 'Something that is no folder stands where the worker keeps one.', {
      hint: 'The work goes on in a new folder when the Dispatch is tried again.',
      cause: error,
    });
  }
}

export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(systemCodeOf(error) ?? '');
}

export function diskFullError(cause: unknown): FarmError {
  return new FarmError('disk_full', 'The disk of the worker is full.', { hint: 'Free some space on it.', cause });
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
