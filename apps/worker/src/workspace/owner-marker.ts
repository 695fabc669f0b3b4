import { join } from 'node:path';
import { z } from 'zod';
import { BootId, Epoch, JobId, LeaseId, ObjectId } from '#contracts';
import { readIfThere, writePrivateFile } from '../private-file.js';

/**
 * Whose a workspace is and how far it came; written before anything is materialised, so that whatever a crash leaves can be
 * told apart (D11, W18).
 */
export const OwnerMarker = z.strictObject({
  worker: z.string(),
  boot: BootId,
  pid: z.int(),
  /** Start of that process: its pid alone may be another's by now. */
  started: z.string(),
  job: JobId,
  /** Epoch of the lease that the work belongs to now. */
  epoch: Epoch,
  lease_id: LeaseId,
  /** Epoch at which the process tree was started: it carries that one (D11). */
  tree_epoch: Epoch,
  /** The lease's last token: names it to the pack road, worth nothing without the worker's own (D17, D20). */
  job_token: z.string(),
  /** preparing: no work in it. ready: a session may have worked. settled: the farm has it. */
  stage: z.enum(['preparing', 'ready', 'settled']),
  title: z.string(),
  member: z.string(),
  base: ObjectId,
  task_directory: z.string(),
  /** The folder that is worked in as it is: not ours, and never removed (H27). */
  in_place: z.string().optional(),
  /** Paths that are captured even when ignored (H20). */
  include: z.array(z.string()),
  /** Of the first capture: the same work again is the same commit. */
  captured_at: z.iso.datetime().optional(),
});
export type OwnerMarker = z.output<typeof OwnerMarker>;

/** One Dispatch's folder at one worker. */
export interface DispatchFolder {
  readonly path: string;
  readonly marker: string;
  /** The workspace itself. */
  readonly work: string;
  /** The workspace is a folder of the machine's owner, elsewhere: nobody lays it out, keeps it or removes it. */
  readonly isInPlace: boolean;
  /** Where it stands above frozen layers: its own changes, and the kernel's scratch beside them. */
  readonly upper: string;
  readonly scratch: string;
  /** Our GIT_DIR, beside the workspace and out of the agent's reach (H2). */
  readonly git: string;
  /** The adapter's own files: some of its folders are the agent's to write. */
  readonly state: string;
  /** The sandbox's own, beside all that an agent may write (E2). */
  readonly sandbox: string;
  readonly handover: string;
  readonly pack: string;
}

/** Where what runs in it writes. */
export const writtenPaths = ({ path, work, isInPlace }: DispatchFolder): string[] =>
  isInPlace ? [path, work] : [path];

export function folderAt(path: string, inPlace?: string): DispatchFolder {
  return {
    path,
    isInPlace: inPlace !== undefined,
    marker: join(path, 'owner.json'),
    work: inPlace ?? join(path, 'work'),
    upper: join(path, 'upper'),
    scratch: join(path, 'scratch'),
    git: join(path, 'git'),
    state: join(path, 'state'),
    sandbox: join(path, 'sandbox'),
    handover: join(path, 'handover.json'),
    pack: join(path, 'capture.pack'),
  };
}

export function writeMarker(folder: DispatchFolder, marker: OwnerMarker): Promise<void> {
  return writePrivateFile(folder.marker, JSON.stringify(marker));
}

/** Nothing when there is none or it is not whole. */
export async function readMarker(folder: DispatchFolder): Promise<OwnerMarker | undefined> {
  const text = await readIfThere(folder.marker);
  if (text === undefined) return undefined;
  try {
    return OwnerMarker.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
