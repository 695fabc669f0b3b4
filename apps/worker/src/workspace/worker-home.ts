import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { FarmError } from '#contracts';
import { readIfThere, writePrivateFile } from '../private-file.js';
import { processTable } from '../process/process-table.js';

/** The worker's own folder and what lies where in it. */
export interface WorkerHome {
  readonly path: string;
  readonly identity: string;
  readonly workspaces: string;
  readonly bundles: string;
  /** Contents of git-lfs, by sha256. */
  readonly lfs: string;
  readonly rescue: string;
  /** Repositories of bases, by commit, and frozen files of bases, by what made them. */
  readonly repositories: string;
  readonly templates: string;
  /** Workspaces whose Assignment goes on. */
  readonly kept: string;
}

/** @throws FarmError `misconfigured` when others may enter it */
export async function openHome(path: string): Promise<WorkerHome> {
  const home = {
    path,
    identity: join(path, 'identity.json'),
    workspaces: join(path, 'workspaces'),
    bundles: join(path, 'cache', 'bundles'),
    lfs: join(path, 'cache', 'lfs'),
    rescue: join(path, 'rescue'),
    repositories: join(path, 'cache', 'repositories'),
    templates: join(path, 'templates'),
    kept: join(path, 'kept'),
  };
  await mkdir(path, { recursive: true, mode: 0o700 });
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) {
    throw new FarmError('misconfigured', "Others may enter the worker's folder.", { hint: 'Set its mode to 0700.' });
  }
  for (const folder of [
    home.workspaces,
    home.bundles,
    home.lfs,
    home.rescue,
    home.repositories,
    home.templates,
    home.kept,
  ])
    await mkdir(folder, { recursive: true, mode: 0o700 });
  return home;
}

const LockFile = z.strictObject({ pid: z.int(), started: z.string(), host: z.string() });

/**
 * One process per folder: another would sweep away what this one works in. A lock of a process that is gone counts for nothing,
 * also when its number was given to another one (W18).
 *
 * @throws FarmError `identity_in_use`
 */
export async function lockHome(home: WorkerHome, host: string): Promise<void> {
  const path = join(home.path, 'worker.lock');
  const text = await readIfThere(path);
  const lock = text === undefined ? undefined : LockFile.safeParse(fromJson(text)).data;
  if (lock !== undefined && lock.host === host && lock.pid !== process.pid && isAlive(lock.pid, lock.started)) {
    throw new FarmError('identity_in_use', `Another worker process (${lock.pid}) on this host uses this folder.`, {
      hint: 'Stop it, or give this worker a folder and a join ticket of its own.',
    });
  }
  await writePrivateFile(path, JSON.stringify({ pid: process.pid, started: startOf(process.pid) ?? '', host }));
}

/** When a process began, as the system tells it; nothing when there is no such process. */
export function startOf(pid: number): string | undefined {
  return processTable.rows().find((row) => row.pid === pid)?.started;
}

/** Pids are reused, pid and start together are not. */
export function isAlive(pid: number, started: string): boolean {
  return startOf(pid) === started;
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
