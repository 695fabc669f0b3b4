import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { CommandRunRequest, DispatchRequest, JobSettings, OutputFrom, OutputHead } from '#contracts';

/** Whose lease a caller shows: the job token's claims, and the worker token's subject and boot (D17, H24). */
export interface LeaseShown {
  readonly job: string;
  readonly epoch: number;
  readonly lease_id: string;
  readonly worker: string;
  readonly boot: string;
}

/** A file to be sent, by range if asked. */
export interface FileToSend {
  readonly path: string;
  readonly size: number;
}

/** Bytes of what a command said, and what is to be known of them. */
export interface OutputToSend {
  readonly head: OutputHead;
  readonly bytes: number;
  readonly body: Readable;
}

/**
 * Roads for bytes. The door has checked who calls; what a lease may read and write is checked here (H29).
 */
export interface Roads {
  /**
   * The two strings of the prompt, or the command: the same bytes at every epoch (I6).
   * @throws not_available when the lease is not this job's
   */
  request(lease: LeaseShown): Promise<z.output<typeof DispatchRequest> | z.output<typeof CommandRunRequest>>;
  /** Settings, environment and secrets of the repository, for the sandbox of the job alone. @throws not_available, stale_lease */
  settings(lease: LeaseShown): Promise<JobSettings>;
  /** The bundle of the job's pinned base, without what the worker says it has. @throws not_available, stale_lease */
  bundle(lease: LeaseShown, have: readonly string[]): Promise<FileToSend>;
  /** On that base: the branches that stand unmerged for the Dispatch (D22), and what members of its Task have noted. @throws not_available, stale_lease */
  team(lease: LeaseShown): Promise<FileToSend>;
  /** A file of git-lfs, by its sha256: only of the lease's own Task. @throws not_available, stale_lease */
  lfs(lease: LeaseShown, oid: string): Promise<FileToSend>;
  /**
   * Takes a captured commit, write-once under (job, epoch, commit). `rescue`: the lease is over and the pack is kept; the door
   * answers `stale_lease` (D20). Only for a worker that held that epoch.
   * @throws stale_lease (never held), commit_refused, disk_full
   */
  takePack(lease: LeaseShown, commit: string, body: Readable): Promise<'accepted' | 'rescue'>;
  /** Create only, under a live lease (H17). @throws stale_lease, conflict (another content under this number), too_large */
  takeOutput(lease: LeaseShown, segment: number, body: Readable): Promise<void>;
  /**
   * What the command said that the Dispatch goes on from, from a place on or from its beginning.
   * @throws not_available (it goes on from none), stale_lease, cursor_reset_required
   */
  commandOutput(lease: LeaseShown, from: OutputFrom | undefined): Promise<OutputToSend>;
  /** The same of a command of a Task. @throws not_found, cursor_reset_required */
  runOutput(task: string, command: string, from: OutputFrom | undefined): Promise<OutputToSend>;
  /** A person's checkout as a bundle, named by its sha256 (D19). @throws invalid_input (another sha256), too_large, disk_full */
  takeSource(person: string, sha256: string, body: Readable): Promise<void>;
  /** What the Task changed, as a mailbox for `git am`. @throws not_found where nothing changed (D7) */
  patch(task: string): Promise<FileToSend>;
  /** The Task's branch as a bundle, against what its owner has. @throws not_found where nothing changed (D7) */
  result(task: string): Promise<FileToSend & { readonly branch: string; readonly commit: string }>;
}
