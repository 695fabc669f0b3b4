import { execFile } from 'node:child_process';
import { release } from 'node:os';
import { promisify } from 'node:util';

/**
 * The kernel counts no processes of root against RLIMIT_NPROC. Since Linux 6.14 each process namespace has a `pid_max` of its own,
 * which binds root, too. Before that the same write would change the whole machine, so the version is asked first.
 */
function hasOwnPidMax(kernel: string = release()): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number);
  return process.platform === 'linux' && (major > 6 || (major === 6 && minor >= 14));
}

/** The kernel takes no smaller one. */
const least = 301;

/** As root of the machine, and as root of a container that may do less. */
const ways = [
  ['unshare', '--pid', '--fork'],
  ['unshare', '--user', '--map-root-user', '--pid', '--fork'],
] as const;

let found: Promise<readonly string[] | undefined> | undefined;

/**
 * Runs the rest of the arguments in a process namespace that holds at most `pids` processes and threads; undefined where this
 * machine has no such thing, which is tried once.
 */
export async function pidCeiling(pids: number): Promise<readonly string[] | undefined> {
  found ??= firstThatWorks();
  const way = await found;
  return way === undefined ? undefined : [...way, ...ceiling(pids)];
}

const ceiling = (pids: number): readonly string[] => [
  ...['sh', '-c', `echo ${Math.max(least, Math.ceil(pids))} > /proc/sys/kernel/pid_max && exec "$@"`, 'sh'],
];

async function firstThatWorks(): Promise<readonly string[] | undefined> {
  if (!hasOwnPidMax()) return undefined;
  for (const [program, ...args] of ways) {
    const words = [...args, ...ceiling(least), 'true'];
    const works = await promisify(execFile)(program, words, { timeout: 10_000 }).then(
      () => true,
      () => false,
    );
    if (works) return [program, ...args];
  }
  return undefined;
}
