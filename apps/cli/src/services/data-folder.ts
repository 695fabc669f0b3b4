import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readdir, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { FarmError } from '#contracts';
import { readIfThere, readPrivateJson, writePrivateFile, writePrivateJson } from './private-file.js';
import { isAlive, markOf, ProcessMark } from './process-mark.js';

/** The layout of the data folder. Raised only with a step that brings an older folder up to it. */
const folderVersion = '1';

/** What may lie in a folder that no farm has used yet: what the other commands keep there. */
const neighbours = new Set(['worker', 'workers', 'cli', 'bin']);

export interface DataFolder {
  readonly path: string;
  /** Gives the lock back. */
  release(): Promise<void>;
}

const defaultDataFolder = () => join(homedir(), '.longshore');

/**
 * Opens the folder that holds a farm's whole state, for one farm at a time, and makes it when it is not there (0700).
 * Errors: data_version; conflict while another process runs a farm on it; misconfigured for a folder that is somebody else's.
 */
export async function openDataFolder(path: string = defaultDataFolder()): Promise<DataFolder> {
  const folder = resolve(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await requireOurs(folder);
  await chmod(folder, 0o700);
  return { path: folder, release: await lock(folder) };
}

async function requireOurs(folder: string): Promise<void> {
  const file = join(folder, 'version');
  const version = (await readIfThere(file))?.trim();
  if (version === folderVersion) return;
  if (version !== undefined) {
    throw new FarmError(
      'data_version',
      `The data folder ${folder} has version ${version}, this Longshore works with ${folderVersion}.`,
      {
        hint: 'Start the Longshore that made it, or give this one another folder with --data.',
      },
    );
  }
  const strangers = (await readdir(folder)).filter((name) => !neighbours.has(name) && !isOurs(name));
  if (strangers.length > 0) {
    throw new FarmError('misconfigured', `The folder ${folder} is not empty and no data folder of Longshore.`, {
      hint: 'Give --data a new folder.',
    });
  }
  await writePrivateFile(file, `${folderVersion}\n`);
}

/** A lock is held by the process that its highest file names, while that process lives and has not given it back. */
const Lock = z.strictObject({ holder: ProcessMark.nullable() });

/** Files of this module and their drafts, by a process that opens the folder at this moment or died over it. */
const isOurs = (name: string) => /^(lock\.\d+|version)(\..*)?$/.test(name);
const lockTries = 20;

/**
 * Numbers only rise and the highest file counts, so that two processes that both find a dead holder can not both take over:
 * they try to make the same next file, and `link` makes it once, with its content.
 */
async function lock(folder: string): Promise<() => Promise<void>> {
  const holder = markOf(process.pid) ?? { pid: process.pid, started: 'unknown' };
  for (let attempt = 0; attempt < lockTries; attempt += 1) {
    const last = await highestLock(folder);
    if (last > 0) await refuseWhileHeld(folder, last);
    const mine = last + 1;
    if (!(await makeLock(folder, mine, holder))) continue;
    // Somebody slow may have made a number that was passed long ago: only the highest counts.
    if ((await highestLock(folder)) !== mine) {
      await rm(lockFile(folder, mine), { force: true });
      continue;
    }
    await removeBelow(folder, mine);
    return () => writePrivateJson(lockFile(folder, mine), { holder: null });
  }
  throw new FarmError('conflict', `Other processes are taking the data folder ${folder} at this moment.`, {
    hint: 'Try again.',
  });
}

const lockFile = (folder: string, number: number) => join(folder, `lock.${number}`);

async function lockNumbers(folder: string): Promise<readonly number[]> {
  return (await readdir(folder)).flatMap((name) => (/^lock\.\d+$/.test(name) ? [Number(name.slice(5))] : []));
}

const highestLock = async (folder: string) => Math.max(0, ...(await lockNumbers(folder)));

async function refuseWhileHeld(folder: string, number: number): Promise<void> {
  const found = await readPrivateJson(lockFile(folder, number), Lock);
  const holder = found?.holder ?? undefined;
  if (holder === undefined || !isAlive(holder)) return;
  throw new FarmError('conflict', `A farm already runs on ${folder}: process ${holder.pid}.`, {
    hint: 'Use that one, end it, or start this one with another --data.',
  });
}

async function makeLock(folder: string, number: number, holder: ProcessMark): Promise<boolean> {
  const draft = `${lockFile(folder, number)}.${randomBytes(4).toString('hex')}`;
  await writePrivateJson(draft, { holder });
  try {
    await link(draft, lockFile(folder, number));
    return true;
  } catch {
    return false;
  } finally {
    await rm(draft, { force: true });
  }
}

async function removeBelow(folder: string, number: number): Promise<void> {
  for (const old of await lockNumbers(folder)) if (old < number) await rm(lockFile(folder, old), { force: true });
}
