import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What the sandbox keeps in a Dispatch's state folder: on disk and not in memory, so that filling it is no memory bomb. */
export interface SandboxFolder {
  readonly home: string;
  readonly tmp: string;
  readonly shared: string;
  readonly sockets: string;
  readonly hosts: string;
}

const folderOf = (stateFolder: string): string => join(stateFolder, 'sandbox');
const socketsOf = (stateFolder: string): string => join(folderOf(stateFolder), 'sockets');

export async function makeSandboxFolder(stateFolder: string): Promise<SandboxFolder> {
  const path = folderOf(stateFolder);
  const folder: SandboxFolder = {
    home: join(path, 'home'),
    tmp: join(path, 'tmp'),
    shared: join(path, 'shm'),
    sockets: await makeSocketFolder(stateFolder),
    hosts: join(path, 'hosts'),
  };
  for (const part of [folder.home, folder.tmp, folder.shared]) await mkdir(part, { recursive: true, mode: 0o700 });
  await writeFile(folder.hosts, '127.0.0.1 localhost\n::1 localhost\n');
  return folder;
}

export const socketNames = { memberDoor: 'member-door.sock', egress: 'egress.sock' } as const;

/** A place for a unix socket in a state folder. */
export interface SocketPlace {
  readonly path: string;
  /** After whoever listens there has closed. */
  release(): Promise<void>;
}

/**
 * The name of a socket ends at 107 bytes and a state folder may lie deep, so it is named by an open descriptor of its folder. That
 * stays open as long as somebody listens: the end of listening takes the file away by the same name.
 */
export async function openSocketPlace(
  stateFolder: string,
  name: (typeof socketNames)[keyof typeof socketNames],
): Promise<SocketPlace> {
  const path = await makeSocketFolder(stateFolder);
  await rm(join(path, name), { force: true });
  const folder = await open(path, 'r');
  return { path: `/proc/self/fd/${folder.fd}/${name}`, release: () => folder.close() };
}

async function makeSocketFolder(stateFolder: string): Promise<string> {
  const path = socketsOf(stateFolder);
  await mkdir(path, { recursive: true, mode: 0o700 });
  return path;
}
