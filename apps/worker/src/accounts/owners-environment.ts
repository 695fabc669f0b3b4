import { delimiter, resolve } from 'node:path';
import { defaultHome } from '../settings.js';
import { pathIn, readHeldFile } from './worker-file.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What the owner's file says of this machine, as the variables that say the same; what the environment says stands before it.
 *
 * @throws FarmError `misconfigured`
 */
export async function ownersEnvironment(own: Environment): Promise<Environment> {
  const home = resolve(own.LONGSHORE_WORKER_HOME ?? defaultHome());
  const { sandbox, disk, workspaces } = (await readHeldFile(home)).file;
  return {
    ...onlySet({
      LONGSHORE_SANDBOX: sandbox.rung,
      LONGSHORE_UNSAFE: sandbox.unsafe === undefined ? undefined : String(Number(sandbox.unsafe)),
      LONGSHORE_SANDBOX_READABLE: sandbox.readable?.join(delimiter),
      LONGSHORE_SANDBOX_HIDDEN: sandbox.hidden?.join(delimiter),
      LONGSHORE_SANDBOX_PRIVATE_HOSTS: sandbox.private_hosts?.join(','),
      LONGSHORE_SANDBOX_EGRESS: sandbox.egress?.join(','),
      LONGSHORE_WORKSPACE_ROOTS: workspaces.roots.map((root) => pathIn(home, root)).join(delimiter) || undefined,
      LONGSHORE_DISK_FLOOR_MB: disk.floor_mb?.toString(),
      LONGSHORE_SESSION_DISK_MB: disk.session_mb?.toString(),
      LONGSHORE_CACHE_MB: disk.cache_mb?.toString(),
    }),
    ...onlySet(own),
  };
}

function onlySet(variables: Environment): Environment {
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== undefined));
}
