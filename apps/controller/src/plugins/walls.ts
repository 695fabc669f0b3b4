import { constants } from 'node:fs';
import { access, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { FarmError } from '#contracts';

export interface Program {
  readonly program: string;
  readonly args: readonly string[];
}

export interface PluginPlace {
  /** Program and arguments; `node` is the controller's own. */
  readonly command: readonly string[];
  /** Folders that it may read beside the system's programs and the folder of its own file. */
  readonly reads: readonly string[];
  /** The one folder that it may write, seen as `/state`. */
  readonly state: string;
  /** Whether it may reach the network. */
  readonly network: boolean;
  /** The farm's data folder: never seen, wherever it lies. */
  readonly data: string;
}

const systemFolders = ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/lib32', '/nix/store'];
/** For certificates and names; nothing of the machine's users. */
const systemFiles = [
  '/etc/ssl',
  '/etc/pki/tls/certs',
  '/etc/resolv.conf',
  '/etc/hosts',
  '/etc/nsswitch.conf',
  '/etc/ld.so.cache',
];

/**
 * How a plugin is started: in a tree of its own with processes, users and, unless it may, network of its own, no capability and an
 * empty environment. It sees neither the farm's folder nor a process of the farm (H45). Errors: FarmError isolation_unavailable.
 */
export async function insideWalls(place: PluginPlace): Promise<Program> {
  const { command, reads, state, network } = place;
  const [program = '', ...args] = command;
  const node = await realpath(process.execPath);
  const own = args.filter((arg) => isAbsolute(arg)).map((arg) => dirname(arg));
  const seen = [...new Set([...own, ...reads])];
  // Under its real name: a link to it, or on the way to what is seen, must not lead around the wall.
  const data = await realpath(place.data);
  const real = await Promise.all([...systemFolders, ...seen].map((path) => realpath(path).catch(() => path)));
  return {
    program: await bubblewrap(),
    args: [
      ...['--unshare-user', '--uid', '65534', '--gid', '65534'],
      ...[
        '--unshare-pid',
        '--unshare-ipc',
        '--unshare-uts',
        '--unshare-cgroup-try',
        ...(network ? [] : ['--unshare-net']),
      ],
      ...['--cap-drop', 'ALL', '--new-session', '--die-with-parent', '--clearenv'],
      ...['--setenv', 'PATH', '/usr/local/bin:/usr/bin:/bin', '--setenv', 'LANG', 'C.UTF-8'],
      ...['--setenv', 'HOME', '/state', '--setenv', 'LONGSHORE_PLUGIN_STATE', '/state'],
      ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
      ...[...systemFolders, ...systemFiles].flatMap((path) => ['--ro-bind-try', path, path]),
      ...seen.flatMap((path) => ['--ro-bind', path, path]),
      ...(real.some((path) => isBeneath(data, path)) ? ['--tmpfs', data] : []),
      ...['--ro-bind', node, node, '--bind', state, '/state', '--chdir', '/state'],
      ...['--remount-ro', '/proc', '--remount-ro', '/dev', '--'],
      program === 'node' ? node : program,
      ...args,
    ],
  };
}

async function bubblewrap(): Promise<string> {
  for (const folder of ['/usr/bin', '/usr/local/bin', '/bin']) {
    const path = join(folder, 'bwrap');
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  throw new FarmError(
    'isolation_unavailable',
    'There is no bubblewrap on this machine, and no plugin runs without walls',
    {
      hint: 'Install bubblewrap (the package of that name).',
    },
  );
}

const isBeneath = (path: string, folder: string): boolean => {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
};
