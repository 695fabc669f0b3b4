import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { execa } from 'execa';

/** One line of what mount(8) said, without what it said it about. */
export class MountRefused extends Error {}

export interface Overlay {
  /** The worker's folder. All paths lie beneath it: what is told to the kernel has neither commas nor colons of the machine's. */
  readonly root: string;
  /** Read-only layers, the uppermost first. */
  readonly lower: readonly string[];
  readonly upper: string;
  /** The kernel's own scratch, beside `upper`. */
  readonly scratch: string;
  readonly at: string;
}

/**
 * `redirect_dir`: without it renaming a folder of a lower layer fails with EXDEV, and a program has to copy it instead. A user
 * namespace cannot have it, as in a container without root; there the layer's notes are plain attributes.
 *
 * @throws MountRefused
 */
export async function mountOverlay({ root, lower, upper, scratch, at }: Overlay): Promise<void> {
  const own = (path: string): string => relative(root, path);
  const layers = [`lowerdir=${lower.map(own).join(':')}`, `upperdir=${own(upper)}`, `workdir=${own(scratch)}`];
  const mount = (kind: 'redirect_dir=on' | 'userxattr'): Promise<void> =>
    run('mount', ['-t', 'overlay', 'longshore', '-o', [...layers, kind, 'nosuid', 'nodev'].join(','), at], root);
  await mount('redirect_dir=on').catch(() => mount('userxattr'));
}

/**
 * Makes a folder unwritable by its path, whoever asks, until it is unmounted.
 *
 * @throws MountRefused
 */
export async function bindReadOnly(path: string): Promise<void> {
  await run('mount', ['--bind', path, path], '/');
  await run('mount', ['-o', 'remount,bind,ro', path], '/');
}

/** Unmounts all there is at and beneath a path, the innermost first; what is still in use goes when its users go. */
export async function unmountBeneath(path: string): Promise<readonly string[]> {
  const found = await mountsBeneath(path);
  for (const at of found.toReversed()) {
    await run('umount', [at], '/').catch(() => run('umount', ['--lazy', at], '/'));
  }
  return found;
}

/** Mount points at and beneath a path, in the order in which they were mounted. None where the system does not tell. */
export async function mountsBeneath(path: string): Promise<readonly string[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  return table
    .split('\n')
    .map((line) => withoutEscapes(line.split(' ')[4] ?? ''))
    .filter((at) => at === path || at.startsWith(`${path}/`));
}

/** The kernel writes spaces, tabs, newlines and backslashes as three octal digits. */
function withoutEscapes(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

async function run(program: 'mount' | 'umount', args: readonly string[], cwd: string): Promise<void> {
  const ended = await execa(program, args, {
    cwd,
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C' },
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
    timeout: 30_000,
  });
  if (ended.exitCode === 0) return;
  const said = ended.stderr.trim().split('\n')[0] ?? '';
  throw new MountRefused(said.slice(said.lastIndexOf(': ') + 2) || `${program} could not be run`);
}
