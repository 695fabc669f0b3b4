import { mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Makes a folder beside what it is for (so that renames out of it are atomic), and removes it whatever happens. */
export async function withFolder<T>(parent: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(parent, 'tmp-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Puts a file's bytes, or a folder's names, on disk (H4). */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
