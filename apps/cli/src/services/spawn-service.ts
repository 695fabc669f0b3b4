import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { FarmError } from '#contracts';
import { childEnvironment } from './child-environment.js';
import { markOf, type ProcessMark } from './process-mark.js';

const logBytes = 8 * 1024 * 1024;

export interface SpawnedService {
  readonly mark: ProcessMark;
  /** What this process has written to its log so far. */
  saidSince(): Promise<string>;
}

/**
 * Starts a server that outlives us when we crash (the next start finds it) and writes to a log file of mode 0600.
 * It gets a session of its own: Ctrl-C at our terminal must not end it before its users have drained.
 */
export async function spawnService(command: readonly string[], log: string): Promise<SpawnedService> {
  const from = await makeRoom(log);
  const file = await open(log, 'a', 0o600);
  try {
    // By way of a shell, for what the server writes: nothing of it is for others. `exec` keeps the pid.
    const child = spawn('sh', ['-c', 'umask 077 && exec "$0" "$@"', ...command], {
      detached: true,
      stdio: ['ignore', file.fd, file.fd],
      env: childEnvironment(),
    });
    await once(child, 'spawn');
    child.unref();
    const mark = child.pid === undefined ? undefined : markOf(child.pid);
    return {
      mark: mark ?? { pid: child.pid ?? 0, started: 'never' },
      saidSince: async () => (await readFile(log)).subarray(from).toString('utf8'),
    };
  } catch (cause) {
    throw new FarmError('misconfigured', `The program ${command[0]} can not be started.`, { cause });
  } finally {
    await file.close();
  }
}

async function makeRoom(log: string): Promise<number> {
  const size = await stat(log).then(
    (found) => found.size,
    () => 0,
  );
  if (size <= logBytes) return size;
  await rename(log, `${log}.1`);
  return 0;
}
