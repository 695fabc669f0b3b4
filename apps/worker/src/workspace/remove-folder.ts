import { rm } from 'node:fs/promises';
import { execa } from 'execa';
import { systemCodeOf } from '#contracts';
import { unmountBeneath } from './layers/mounts.js';

/**
 * Removes a folder whatever an agent left in it: paths that are too long for node are not for `rm`, which goes down step by step,
 * and an owner may take back the rights that were taken from him. What is mounted in it is unmounted first.
 */
export async function removeFolder(path: string): Promise<void> {
  await unmountBeneath(path);
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (!['ENAMETOOLONG', 'EACCES', 'EPERM'].includes(systemCodeOf(error) ?? '')) throw error;
    await execa('chmod', ['-R', 'u+rwX', '--', path], { stdio: 'ignore', reject: false });
    await execa('rm', ['-rf', '--', path], { stdio: 'ignore' });
  }
}
