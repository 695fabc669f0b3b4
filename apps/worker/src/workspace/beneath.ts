import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError, systemCodeOf } from '#contracts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/**
 * Work beneath a folder that somebody else may write: each step of a path is opened from the step before and never through a
 * symlink (H21). Linux gives `openat` by way of /proc/self/fd; elsewhere the path is walked by name, which a process of the
 * agent's could race, so there only before it starts and for hints.
 */
const at = (folder: FileHandle, path: string, name: string): string =>
  process.platform === 'linux' ? `/proc/self/fd/${folder.fd}/${name}` : join(path, name);

/**
 * Makes the folders of a relative path, as far as they are missing.
 *
 * @throws FarmError `invalid_task_path` when something else, or a symlink, stands in the way
 */
export async function makeFoldersBeneath(root: string, path: string): Promise<void> {
  await withFolder(root, path.split('/'), true, async () => undefined);
}

/**
 * Writes a file anew; one that is there already is left as it is.
 *
 * @throws FarmError `invalid_task_path` when something in the way is no folder
 */
export async function writeNewFileBeneath(root: string, path: string, content: string): Promise<void> {
  const parts = path.split('/');
  const name = parts.pop() ?? '';
  await withFolder(root, parts, true, async (folder, folderPath) => {
    const handle = await open(at(folder, folderPath, name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644).catch(
      (error: unknown) => {
        if (systemCodeOf(error) === 'EEXIST') return undefined;
        throw error;
      },
    );
    await handle?.writeFile(content);
    await handle?.close();
  });
}

/**
 * Removes one file, or a symlink itself; nothing to do where it is not there.
 *
 * @throws FarmError `invalid_task_path` when something in the way is no folder
 */
export async function removeFileBeneath(root: string, path: string): Promise<void> {
  if ((await lookBeneath(root, path)) === undefined) return;
  const parts = path.split('/');
  const name = parts.pop() ?? '';
  await withFolder(root, parts, false, (folder, folderPath) => rm(at(folder, folderPath, name), { recursive: true }));
}

/** What stands at a relative path; nothing when it is not there or a symlink lies on the way. */
export async function lookBeneath(root: string, path: string): Promise<Stats | undefined> {
  const parts = path.split('/');
  const name = parts.pop() ?? '';
  try {
    return await withFolder(root, parts, false, (folder, folderPath) => lstat(at(folder, folderPath, name)));
  } catch (error) {
    if (
      error instanceof FarmError ||
      ['ENOENT', 'ENOTDIR', 'EACCES', 'ENAMETOOLONG'].includes(systemCodeOf(error) ?? '')
    )
      return undefined;
    throw error;
  }
}

/**
 * The text of a regular file of at most so many bytes; nothing when it is not there, is larger, or is anything else: a symlink, or
 * a FIFO that nobody writes to.
 */
export async function readFileBeneath(root: string, path: string, largest: number): Promise<string | undefined> {
  const parts = path.split('/');
  const name = parts.pop() ?? '';
  try {
    return await withFolder(root, parts, false, async (folder, folderPath) => {
      const file = await open(at(folder, folderPath, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      try {
        return await textOf(file, largest);
      } finally {
        await file.close();
      }
    });
  } catch (error) {
    if (error instanceof FarmError || ['ENOENT', 'ELOOP', 'ENXIO'].includes(systemCodeOf(error) ?? ''))
      return undefined;
    throw error;
  }
}

async function textOf(file: FileHandle, largest: number): Promise<string | undefined> {
  if (!(await file.stat()).isFile()) return undefined;
  // who writes it may be writing on: never more than was asked for
  const content = Buffer.alloc(largest + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < content.length; length += read)
    read = (await file.read(content, length, content.length - length, null)).bytesRead;
  return length > largest ? undefined : content.toString('utf8', 0, length);
}

async function withFolder<Value>(
  root: string,
  parts: readonly string[],
  make: boolean,
  work: (folder: FileHandle, path: string) => Promise<Value>,
): Promise<Value> {
  let path = root;
  let folder = await open(root, O_RDONLY | O_DIRECTORY);
  try {
    for (const part of parts) {
      if (make) await mkdir(at(folder, path, part)).catch(unlessThere);
      const next = await open(at(folder, path, part), O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(notAFolder);
      await folder.close();
      folder = next;
      path = join(path, part);
    }
    return await work(folder, path);
  } finally {
    await folder.close();
  }
}

function unlessThere(error: unknown): void {
  if (systemCodeOf(error) !== 'EEXIST') throw error;
}

function notAFolder(error: unknown): never {
  if (!['ELOOP', 'ENOTDIR', 'ENOENT'].includes(systemCodeOf(error) ?? '')) throw error;
  throw new FarmError('invalid_task_path', 'Something that is no folder stands on the way, such as a symlink.', {
    cause: error,
  });
}
