import { rm } from 'node:fs/promises';
import { execa } from 'execa';
import { systemCodeOf } from '#contracts';

/** Removes a folder whatever an agent left in it: paths that are too long for node are not for `rm`, which goes down step by step. */
export async function removeFolder(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (systemCodeOf(error) !== 'ENAMETOOLONG') throw error;
    await execa('rm', ['-rf', '--', path], { stdio: 'ignore' });
  }
}
