import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FarmError } from '#contracts';
import { syncToDisk } from './folders.js';
import { diskFull } from './git.js';
import { type Oid, requireOid } from './oid.js';
import type { ObjectStore } from './store.js';

export interface PinPlace {
  /** `accepted`: what `prepare` offers to a transaction. `rescue`: late or unfinished work (H10). `own`: the agent's own commits. */
  readonly kind: 'accepted' | 'rescue' | 'own';
  readonly job: string;
  readonly epoch: number;
}

export interface Pin extends PinPlace {
  /** One that the store holds: what was just taken in or merged there. */
  readonly commit: Oid;
}

/** Folders whose names are on disk; when there are too many, they are put there once more. */
const lasting = new Set<string>();
const mostLasting = 10_000;

/**
 * Pins a commit under its job and epoch, write-once: `refs/longshore/<kind>/<job>/<epoch>/<commit>`. Doing it again is the same
 * act. Without a row that names it a pin means nothing (D20). On disk before it returns (H4). No git is asked: to start one takes
 * longer than all of this, and stops the controller meanwhile.
 *
 * @returns the ref
 * @throws FarmError `disk_full`
 */
export async function pin(store: ObjectStore, what: Pin): Promise<string> {
  return await (await draftPin(store, what)).set();
}

/** A pin that lacks its name alone. Whoever drafted it sets or drops it. */
export interface PinDraft {
  readonly commit: Oid;
  /** As `pin`. */
  set(): Promise<string>;
  drop(): Promise<void>;
}

/** Most of what `pin` takes, and of a commit that the store does not hold yet. Throws as `pin`. */
export async function draftPin(store: ObjectStore, what: Pin): Promise<PinDraft> {
  const commit = requireOid(what.commit);
  const place = placeOf(what);
  const folder = join(store.dir, place);
  const draft = join(folder, `${commit}.${randomUUID()}.lock`);
  const drop = (): Promise<void> => rm(draft, { force: true });
  const orDropped = (work: () => Promise<void>): Promise<void> =>
    orDiskFull(work).catch(async (fault) => {
      await drop();
      throw fault;
    });
  await orDropped(async () => writeDraft(draft, commit, await makeFolders(store.dir, place)));
  return {
    commit,
    drop,
    async set() {
      await orDropped(() => rename(draft, join(folder, commit)));
      await orDiskFull(() => syncToDisk(folder));
      return `${place}/${commit}`;
    },
  };
}

/** Makes the folders of pins that are to come, on disk: most of what the first of them takes. Throws as `pin`. */
export async function preparePin(store: ObjectStore, where: PinPlace): Promise<void> {
  await orDiskFull(async () => makeLasting(await makeFolders(store.dir, placeOf(where))));
}

function placeOf({ kind, job, epoch }: PinPlace): string {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(job) || !Number.isSafeInteger(epoch) || epoch < 0) {
    throw new FarmError('invalid_input', 'A pin needs a job id and an epoch.');
  }
  return `refs/longshore/${kind}/${job}/${epoch}`;
}

async function orDiskFull(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (fault) {
    throw diskFull(fault) ?? fault;
  }
}

/** As git does: under another name, which git takes for a lock, then in one step. A twin writes the same, as the name holds the id. */
async function writeDraft(draft: string, commit: Oid, unsure: readonly string[]): Promise<void> {
  const written = writeFile(draft, `${commit}\n`, { flag: 'wx', flush: true });
  for (const outcome of await Promise.allSettled([written, makeLasting(unsure)]))
    if (outcome.status === 'rejected') throw outcome.reason;
}

/** Answers those whose names may not be on disk: made now, by another at this moment, or before a crash. */
async function makeFolders(dir: string, place: string): Promise<readonly string[]> {
  const [refs = '', ...parts] = place.split('/');
  const folders = parts.map((_, n) => join(dir, refs, ...parts.slice(0, n + 1)));
  const first = await mkdir(join(dir, place), { recursive: true });
  // git removes folders that are empty: what is made anew was not there
  if (first !== undefined) for (const folder of folders) if (folder.startsWith(first)) lasting.delete(folder);
  return folders.filter((folder) => !lasting.has(folder));
}

async function makeLasting(folders: readonly string[]): Promise<void> {
  await Promise.all(folders.map((folder) => syncToDisk(dirname(folder))));
  if (lasting.size > mostLasting) lasting.clear();
  for (const folder of folders) lasting.add(folder);
}
