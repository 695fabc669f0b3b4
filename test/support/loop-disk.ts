import { execFileSync } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from './temp-dir.js';

const sizes = { btrfs: 256, ext4: 64 } as const;

/**
 * A disk of its own for one test, on a loop device; unmount it in the end. Where that is impossible (no root, no loop devices, no
 * mkfs): the reason, for people.
 */
export function aLoopDisk(
  kind: keyof typeof sizes,
): { readonly path: string; unmount(): void } | { readonly missing: string } {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return { missing: 'loop mounts need root on Linux' };
  const folder = tempDir('disk');
  const [image, path] = [join(folder, 'image'), join(folder, 'mounted')];
  writeFileSync(image, '');
  truncateSync(image, sizes[kind] * 1024 ** 2);
  mkdirSync(path);
  try {
    // a small disk gets few inodes by itself
    const inodes = kind === 'ext4' ? ['-N', '40000'] : [];
    execFileSync(`mkfs.${kind}`, ['-q', ...inodes, image], { stdio: 'pipe' });
    execFileSync('mount', ['-o', 'loop', image, path], { stdio: 'pipe' });
  } catch (error) {
    return {
      missing: `no ${kind} on a loop device here (${error instanceof Error ? error.message.split('\n')[0] : ''})`,
    };
  }
  return { path, unmount: () => void execFileSync('umount', ['-l', path], { stdio: 'pipe' }) };
}
