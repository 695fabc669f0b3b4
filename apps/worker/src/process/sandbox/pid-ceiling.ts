import { release } from 'node:os';

/**
 * The kernel counts no processes of root against RLIMIT_NPROC. Since Linux 6.14 each process namespace has a `pid_max` of its own,
 * which binds root, too. Before that the same write would change the whole machine, so the version is asked first.
 */
export function hasOwnPidMax(kernel: string = release()): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number);
  return process.platform === 'linux' && (major > 6 || (major === 6 && minor >= 14));
}

/** The kernel takes no smaller one. */
const least = 301;

/** Runs the rest of the arguments in a process namespace that holds at most `pids` processes and threads. */
export function pidCeiling(pids: number): readonly string[] {
  return [
    ...['unshare', '--pid', '--fork', 'sh', '-c'],
    `echo ${Math.max(least, Math.ceil(pids))} > /proc/sys/kernel/pid_max && exec "$@"`,
    'sh',
  ];
}
