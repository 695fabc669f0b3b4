import { execFileSync } from 'node:child_process';

const unshare = ['--user', '--map-root-user', '--mount'] as const;

/**
 * Where the machine's owner says so, the worker of a plain user goes on in a user namespace of its own, in which it may mount:
 * workspaces come from overlays then, and their mounts go with the worker. It stays the same process with the same rights to
 * files; inside, its user looks like root. Where the system does not allow it, the worker goes on as it is, and its workspaces
 * say why they have no overlay.
 */
export function enterOwnNamespace(environment: Readonly<Record<string, string | undefined>>): void {
  if (environment.LONGSHORE_USER_NAMESPACE !== '1' || process.platform !== 'linux' || process.getuid?.() === 0) return;
  const program = findUnshare();
  if (program === undefined || process.execve === undefined) return;
  const own = { ...process.env };
  process.execve(program, [program, ...unshare, process.execPath, ...process.execArgv, ...process.argv.slice(1)], own);
}

/** Absolute, and tried: whoever is replaced by a program that fails is gone. */
function findUnshare(): string | undefined {
  for (const program of ['/usr/bin/unshare', '/bin/unshare']) {
    try {
      execFileSync(program, [...unshare, '/bin/true'], { stdio: 'ignore' });
      return program;
    } catch {
      // not there, or not allowed
    }
  }
  return undefined;
}
