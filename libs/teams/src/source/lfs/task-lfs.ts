import { constants } from 'node:fs';
import { copyFile, link, mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError, limits, newId, systemCodeOf } from '#contracts';
import { lfsPointers, type ObjectStore, type Remote } from '#git';
import type { TeamParts } from '../../parts.js';
import { LfsClient, type LfsObject } from './lfs-client.js';

type LfsParts = Pick<TeamParts, 'tasksFolder' | 'sources' | 'gitLimits'>;

interface Wanted {
  readonly task: string;
  readonly store: ObjectStore;
  readonly base: string;
  readonly remote: Remote;
  /** The mirror whose lock is held: its objects lie beside it, by sha256. */
  readonly mirrorDir: string;
  readonly signal: AbortSignal;
}

export interface TakenLfs {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Fetches what the base points to and its mirror does not have yet, and gives all of it to the Task, which keeps it with the mirror
 * gone (H19).
 *
 * @throws FarmError source_unavailable, source_refused, disk_full, timeout
 */
export async function takeLfs(parts: LfsParts, wanted: Wanted): Promise<TakenLfs> {
  const { task, store, base, remote, mirrorDir } = wanted;
  const objects = distinct(await lfsPointers(store.dir, base, parts.gitLimits ?? {}));
  const folder = folderOf(parts, task);
  await dropLfs(parts, task);
  const bytes = objects.reduce((sum, { size }) => sum + size, 0);
  if (objects.length === 0) return { files: 0, bytes };
  requireWithin(objects, bytes);
  const cache = lfsBeside(mirrorDir);
  await mkdir(cache, { recursive: true, mode: 0o700 });
  const late = AbortSignal.timeout(limits.fetchSeconds * 1000);
  const client = LfsClient.open(remote, parts.sources, AbortSignal.any([wanted.signal, late]));
  try {
    await fetchMissing(client, objects, cache);
  } catch (error) {
    wanted.signal.throwIfAborted();
    throw error;
  } finally {
    await client.close();
  }
  await giveTo(folder, objects, cache);
  await dropUnused(cache);
  return { files: objects.length, bytes };
}

/** What an earlier try took for another base. */
export async function dropLfs(parts: LfsParts, task: string): Promise<void> {
  await rm(folderOf(parts, task), { recursive: true, force: true });
}

/** Beside a mirror, and gone with it. */
export const lfsBeside = (mirrorDir: string): string => mirrorDir.replace(/\.git$/, '.lfs');

/** What a Task's jobs may read, by sha256: no more than its base points to. */
export async function lfsOf(parts: LfsParts, task: string): Promise<readonly string[]> {
  return readdir(folderOf(parts, task)).catch(() => []);
}

/** @throws FarmError not_available */
export async function lfsFileOf(parts: LfsParts, task: string, oid: string): Promise<string> {
  const path = join(folderOf(parts, task), oid);
  const found = /^[0-9a-f]{64}$/.test(oid) ? await stat(path).catch(() => undefined) : undefined;
  if (found?.isFile() === true) return path;
  throw new FarmError('not_available');
}

const folderOf = ({ tasksFolder }: LfsParts, task: string): string => join(tasksFolder, task, 'lfs');

function distinct(pointers: readonly LfsObject[]): readonly LfsObject[] {
  return [...new Map(pointers.map(({ oid, size }) => [oid, { oid, size }])).values()];
}

function requireWithin(objects: readonly LfsObject[], bytes: number): void {
  const over =
    objects.length > limits.lfsObjects ||
    bytes > limits.lfsBytes ||
    objects.some(({ size }) => size > limits.lfsObjectBytes);
  if (!over) return;
  const mib = (count: number): number => Math.floor(count / 1024 ** 2);
  throw new FarmError(
    'source_refused',
    `The files of git-lfs are over a limit: ${limits.lfsObjects} files, ${mib(limits.lfsObjectBytes)} MiB for one, ${mib(limits.lfsBytes)} MiB for all.`,
    { hint: 'Register the repository without --lfs to work with the pointers.' },
  );
}

async function fetchMissing(client: LfsClient, objects: readonly LfsObject[], cache: string): Promise<void> {
  // drafts of a fetch that was killed: whoever holds the mirror's lock is the only one here
  for (const name of await readdir(cache)) if (name.startsWith('tmp-')) await rm(join(cache, name), { force: true });
  const missing: LfsObject[] = [];
  const now = new Date();
  for (const object of objects) {
    const held = await stat(join(cache, object.oid)).catch(() => undefined);
    if (held?.size !== object.size) missing.push(object);
    else await utimes(join(cache, object.oid), now, now);
  }
  if (missing.length === 0) return;
  const drafts = join(cache, `tmp-${newId()}`);
  const draftOf = ({ oid }: LfsObject): string => `${drafts}-${oid}`;
  try {
    await client.fetch(missing, draftOf, (object) => rename(draftOf(object), join(cache, object.oid)));
  } finally {
    for (const object of missing) await rm(draftOf(object), { force: true });
  }
}

/** Of commits that no Task starts from any more; each use writes the time. */
async function dropUnused(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    const { mtimeMs } = await stat(join(cache, name));
    if (Date.now() - mtimeMs > limits.mirrorUnusedMs) await rm(join(cache, name), { force: true });
  }
}

/** Whole or not there: what lies in the folder is what a job may read. */
async function giveTo(folder: string, objects: readonly LfsObject[], cache: string): Promise<void> {
  const draft = `${folder}.draft`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true, mode: 0o700 });
  for (const { oid } of objects) {
    const [from, to] = [join(cache, oid), join(draft, oid)];
    await link(from, to).catch(async (error: unknown) => {
      if (!['EXDEV', 'EPERM', 'EMLINK'].includes(systemCodeOf(error) ?? '')) throw error;
      await copyFile(from, to, constants.COPYFILE_FICLONE);
    });
  }
  await rename(draft, folder);
}
