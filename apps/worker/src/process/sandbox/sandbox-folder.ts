import { constants } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivateFolder } from '../../private-file.js';
import { seccompFilter } from './seccomp-filter.js';

/** What the sandbox keeps for a Dispatch: on disk and not in memory, so that filling it is no memory bomb. */
export interface SandboxFolder {
  readonly home: string;
  readonly tmp: string;
  readonly shared: string;
  readonly sockets: string;
  readonly hosts: string;
  /** The filter of system calls, as `bwrap --seccomp` reads it. */
  readonly filter: string;
}

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

/**
 * Made for the first process of a session, and the same for the next one.
 *
 * @throws FarmError `misconfigured` where something that is no folder stands in the place of one
 */
export async function makeSandboxFolder(path: string): Promise<SandboxFolder> {
  const folder: SandboxFolder = {
    home: join(path, 'home'),
    tmp: join(path, 'tmp'),
    shared: join(path, 'shm'),
    sockets: await makeSocketFolder(path),
    hosts: join(path, 'hosts'),
    filter: join(path, 'calls.bpf'),
  };
  for (const part of [folder.home, folder.tmp, folder.shared]) await makePrivateFolder(part);
  await writeAnew(folder.hosts, '127.0.0.1 localhost\n::1 localhost\n');
  await writeAnew(folder.filter, seccompFilter());
  return folder;
}

/** Always a new file: what stood there goes by its name, whatever it led to. */
async function writeAnew(path: string, content: string | Buffer): Promise<void> {
  await rm(path, { recursive: true, force: true });
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644);
  try {
    await file.writeFile(content);
  } finally {
    await file.close();
  }
}

export const socketNames = { memberDoor: 'member-door.sock', egress: 'egress.sock' } as const;

/** A place for a unix socket in a sandbox's own folder. */
export interface SocketPlace {
  readonly path: string;
  /** After whoever listens there has closed. */
  release(): Promise<void>;
}

/**
 * The name of a socket ends at 107 bytes and the folder may lie deep, so it is named by an open descriptor of its folder. That
 * stays open as long as somebody listens: the end of listening takes the file away by the same name.
 *
 * @throws FarmError `misconfigured` as `makeSandboxFolder`
 */
export async function openSocketPlace(
  ownFolder: string,
  name: (typeof socketNames)[keyof typeof socketNames],
): Promise<SocketPlace> {
  const folder = await open(await makeSocketFolder(ownFolder), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const path = `/proc/self/fd/${folder.fd}/${name}`;
  await rm(path, { force: true });
  return { path, release: () => folder.close() };
}

async function makeSocketFolder(ownFolder: string): Promise<string> {
  const path = join(ownFolder, 'sockets');
  await makePrivateFolder(ownFolder);
  await makePrivateFolder(path);
  return path;
}
