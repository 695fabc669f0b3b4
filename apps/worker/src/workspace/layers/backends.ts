import { constants } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { systemCodeOf } from '#contracts';
import { removeFolder } from '../remove-folder.js';
import { MountRefused, mountOverlay } from './mounts.js';

/** The rungs of the ladder, best first. */
export const backends = ['overlay', 'reflink', 'clone'] as const;
export type Backend = (typeof backends)[number];

/** Whether a backend works in the worker's folder, found out by doing it; else why not, in words for people. */
export interface BackendProof {
  readonly backend: Backend;
  readonly missing?: string;
}

export async function proveBackends(root: string): Promise<readonly BackendProof[]> {
  for (const name of await readdir(root)) if (name.startsWith('proof-')) await removeFolder(join(root, name));
  const folder = await mkdtemp(join(root, 'proof-'));
  try {
    return [
      proof('overlay', await overlayMissing(root, folder)),
      proof('reflink', await reflinkMissing(folder)),
      { backend: 'clone' },
    ];
  } finally {
    await removeFolder(folder);
  }
}

async function overlayMissing(root: string, folder: string): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'only Linux has it';
  const at = (name: string): string => join(folder, name);
  for (const name of ['lower', 'upper', 'scratch', 'merged']) await mkdir(at(name));
  await writeFile(join(at('lower'), 'file'), 'below');
  try {
    await mountOverlay({
      root,
      lower: [at('lower')],
      upper: at('upper'),
      scratch: at('scratch'),
      at: at('merged'),
    });
    await writeFile(join(at('merged'), 'file'), 'above');
    const below = await readFile(join(at('lower'), 'file'), 'utf8');
    return below === 'below' ? undefined : 'a write reached the layer below';
  } catch (error) {
    return whyNoMount(error);
  }
}

async function reflinkMissing(folder: string): Promise<string | undefined> {
  const [from, to] = [join(folder, 'from'), join(folder, 'to')];
  await writeFile(from, 'x'.repeat(8192));
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE);
    return undefined;
  } catch (error) {
    return `the file system of the worker's folder cannot share blocks (${systemCodeOf(error) ?? 'refused'})`;
  }
}

/** A refusal to mount as a sentence for people; other faults go on. */
export function whyNoMount(error: unknown): string {
  if (!(error instanceof MountRefused)) throw error;
  const plain = process.getuid?.() !== 0;
  const who = plain
    ? ' (this worker does not run as root; LONGSHORE_USER_NAMESPACE=1 gives it a namespace to mount in)'
    : '';
  return `it cannot be mounted here${who}: ${error.message}`;
}

/** Copies a folder with its times and modes; `always` only where blocks can be shared. */
export async function copyTree(from: string, to: string, reflink: 'always' | 'auto'): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  // other systems' cp has no such option; -c is how macOS says it, and APFS is the one file system there that can
  const share = process.platform === 'darwin' ? (reflink === 'always' ? ['-c'] : []) : [`--reflink=${reflink}`];
  await execa('cp', ['-a', ...share, '--', `${from}/.`, to], { stdin: 'ignore', stdout: 'ignore' });
}

const proof = (backend: Backend, missing: string | undefined): BackendProof =>
  missing === undefined ? { backend } : { backend, missing };
