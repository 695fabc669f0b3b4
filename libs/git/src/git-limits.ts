import { limits } from '#contracts';

/** The limits of libs/contracts that git work is held to. Tests pass smaller ones. */
export interface GitLimits {
  /** Bytes of an uploaded source, and of the dirty state in it. */
  readonly sourceBytes: number;
  readonly sourceObjects: number;
  /** Bytes of one uploaded pack, as sent. */
  readonly packBytes: number;
  /** Bytes of all objects of one pack when unpacked; for a source, of the files of its head. */
  readonly packInflatedBytes: number;
  readonly packObjects: number;
  /** Bytes of new and changed files that one capture takes. */
  readonly workspaceBytes: number;
  /** Bytes of all packs of one Task. */
  readonly storeBytes: number;
  /** Free bytes that the disk must keep. */
  readonly diskFloorBytes: number;
  /** Seconds for one git process. */
  readonly gitSeconds: number;
  /** Seconds for one fetch from an origin. */
  readonly fetchSeconds: number;
  /** Address space of one git process, where the system can limit it. */
  readonly gitMemoryBytes: number;
  /** Bytes of stdout that are held in memory. */
  readonly gitOutputBytes: number;
}

export function gitLimits(changed: Partial<GitLimits> = {}): GitLimits {
  return { ...limits, ...changed };
}
