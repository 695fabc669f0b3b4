import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, lstat, readlink, realpath } from 'node:fs/promises';
import { basename, delimiter, dirname, isAbsolute, join, relative } from 'node:path';
import { promisify } from 'node:util';

/** A bubblewrap of this machine. */
export interface Bubblewrap {
  readonly path: string;
  readonly version: string;
  /** It can forbid further user namespaces inside (0.8.0 and newer). */
  readonly disablesUserNamespaces: boolean;
}

/** Looks in PATH and where distributions put it. */
export async function findBubblewrap(path: string): Promise<Bubblewrap | undefined> {
  for (const folder of [...path.split(delimiter), '/usr/bin', '/usr/local/bin']) {
    const program = join(folder, 'bwrap');
    if (!isAbsolute(program) || !(await isExecutable(program))) continue;
    const { stdout } = await promisify(execFile)(program, ['--version'], { env: {}, timeout: 10_000 });
    const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(stdout) ?? [];
    const version = stdout.trim().replace(/^bubblewrap /, '');
    return { path: program, version, disablesUserNamespaces: Number(major) > 0 || Number(minor) >= 8 };
  }
  return undefined;
}

/** One place of the tree that the sandbox sees. `from` of another path lies elsewhere on the machine. */
export type Mount =
  | { readonly kind: 'read' | 'write'; readonly at: string; readonly from: string }
  | { readonly kind: 'cover'; readonly at: string }
  | { readonly kind: 'cover_file'; readonly at: string }
  | { readonly kind: 'link'; readonly at: string; readonly to: string };

/** Where bubblewrap finds the filter of system calls open. */
export const filterDescriptor = 9;

/**
 * Arguments of bubblewrap: a tree of the mounts alone, namespaces of its own for users, processes, IPC, host name and network,
 * no capability, a session of its own, a filter of system calls. Paths only: what is secret is in the environment, which passes through (H22).
 */
export function bubblewrapArguments(
  bubblewrap: Bubblewrap,
  mounts: readonly Mount[],
  shared: string,
  cwd: string,
): readonly string[] {
  return [
    ...['--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup-try'],
    ...(bubblewrap.disablesUserNamespaces ? ['--disable-userns'] : []),
    ...['--cap-drop', 'ALL', '--new-session', '--seccomp', `${filterDescriptor}`],
    ...['--proc', '/proc', '--dev', '/dev', '--bind', shared, '/dev/shm'],
    // from the root down, so that a place inside another is laid over it
    ...[...mounts].sort((a, b) => depthOf(a.at) - depthOf(b.at)).flatMap(mountArguments),
    ...['--chdir', cwd],
    // Whoever is root outside may write to files of /proc that belong to root, core_pattern among them, also without a
    // capability. The tree's own memory file systems are no place to fill either.
    ...mounts.flatMap((mount) => (mount.kind === 'cover' ? ['--remount-ro', mount.at] : [])),
    ...['--remount-ro', '/proc', '--remount-ro', '/dev', '--remount-ro', '/'],
    '--',
  ];
}

function mountArguments(mount: Mount): readonly string[] {
  switch (mount.kind) {
    case 'read':
      return ['--ro-bind', mount.from, mount.at];
    case 'write':
      return ['--bind', mount.from, mount.at];
    case 'cover':
      return ['--tmpfs', mount.at];
    case 'cover_file':
      return ['--ro-bind', '/dev/null', mount.at];
    case 'link':
      return ['--symlink', mount.to, mount.at];
  }
}

const depthOf = (path: string): number => path.split('/').filter((part) => part !== '').length;

const systemFolders = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/nix/store',
  '/run/current-system',
];

/** Of /etc what programs need to run and to trust certificates; never its passwords, keys and registry logins. */
const systemFiles = [
  'alternatives',
  'bash.bashrc',
  'ca-certificates',
  'ca-certificates.conf',
  'crypto-policies',
  'debian_version',
  'fonts',
  'gai.conf',
  'group',
  'host.conf',
  'inputrc',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'locale.alias',
  'locale.conf',
  'localtime',
  'login.defs',
  'magic',
  'mime.types',
  'nsswitch.conf',
  'os-release',
  'passwd',
  'pki/ca-trust',
  'pki/tls/cert.pem',
  'pki/tls/certs',
  'profile',
  'profile.d',
  'protocols',
  'services',
  'shells',
  'ssl/cert.pem',
  'ssl/certs',
  'ssl/openssl.cnf',
  'terminfo',
  'timezone',
].map((name) => join('/etc', name));

/** What belongs to programs, beside their own folder; a home or a service's folder may have secrets as neighbours. */
const besidePrograms = ['lib', 'lib64', 'libexec', 'include', 'share'];

/** What every session may read: the system's programs and libraries, and what stands on the PATH outside of homes. */
export async function systemMounts(path: string, home: string): Promise<readonly Mount[]> {
  const onPath = path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !isBeneath(folder, home) && !isOfSystem(folder))
    .flatMap((folder) => [
      folder,
      ...(basename(folder) === 'bin' ? besidePrograms.map((name) => join(dirname(folder), name)) : []),
    ]);
  return readMounts([...new Set([...systemFolders, ...systemFiles, ...onPath])]);
}

/** This Node with its npm, wherever it lies: often in a home, of which no more is shown. */
export async function nodeMounts(): Promise<readonly Mount[]> {
  const binary = await realpath(process.execPath);
  const folder = dirname(binary);
  if (isOfSystem(folder)) return [];
  const links = await Promise.all(
    ['npm', 'npx', 'corepack'].map(async (name): Promise<readonly Mount[]> => {
      const to = await readlink(join(folder, name)).catch(() => undefined);
      return to === undefined ? [] : [{ kind: 'link', at: join(folder, name), to }];
    }),
  );
  return [...(await readMounts([binary, join(dirname(folder), 'lib/node_modules')])), ...links.flat()];
}

const isOfSystem = (path: string): boolean => systemFolders.some((top) => isBeneath(path, top));

/** A folder or file to read, where it is there; a link of the system stays a link. */
async function asFound(path: string): Promise<readonly Mount[]> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return [];
  if (found.isSymbolicLink() && systemFolders.includes(path))
    return [{ kind: 'link', at: path, to: await readlink(path) }];
  const from = await realpath(path).catch(() => undefined);
  return from === undefined ? [] : [{ kind: 'read', at: path, from }];
}

export async function readMounts(paths: readonly string[]): Promise<readonly Mount[]> {
  return (await Promise.all(paths.map(asFound))).flat();
}

/** Covers for hidden places that one of the mounts would show. */
export async function coverMounts(hidden: readonly string[], mounts: readonly Mount[]): Promise<readonly Mount[]> {
  const covers = await Promise.all(
    hidden.map(async (at): Promise<readonly Mount[]> => {
      const found = await lstat(at).catch(() => undefined);
      const shown = whatStandsAt(at, mounts);
      if (found === undefined || shown === undefined || !(await isSamePlace(shown, at))) return [];
      return [{ kind: found.isDirectory() ? 'cover' : 'cover_file', at }];
    }),
  );
  return covers.flat();
}

/** The path of this machine that a path inside would show, by the deepest mount above it. */
function whatStandsAt(path: string, mounts: readonly Mount[]): string | undefined {
  let nearest: Extract<Mount, { from: string }> | undefined;
  for (const mount of mounts) {
    if (!('from' in mount) || !isBeneath(path, mount.at)) continue;
    if (nearest === undefined || depthOf(mount.at) >= depthOf(nearest.at)) nearest = mount;
  }
  return nearest === undefined ? undefined : join(nearest.from, relative(nearest.at, path));
}

async function isSamePlace(one: string, other: string): Promise<boolean> {
  const [left, right] = await Promise.all([one, other].map((path) => realpath(path).catch(() => undefined)));
  return left !== undefined && left === right;
}

export function isBeneath(path: string, top: string): boolean {
  return path === top || path.startsWith(top.endsWith('/') ? top : `${top}/`);
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
