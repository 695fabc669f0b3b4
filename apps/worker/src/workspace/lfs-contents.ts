import { createHash } from 'node:crypto';
import { type LfsPointer, layLfsContents } from '#git';

/** Contents of git-lfs that a job's workspace holds in the place of their pointers. */
export interface LfsContents {
  /** sha256 of each. */
  readonly oids: readonly string[];
  /** Brings one here. */
  readonly fileOf: (pointer: LfsPointer) => Promise<string>;
}

interface Laid {
  readonly dir: string;
  readonly gitDir: string;
  readonly base: string;
  readonly index: string;
}

/** After the base was laid into a folder, and before anything runs in it. */
export async function layContents(lfs: LfsContents | undefined, laid: Laid): Promise<void> {
  if (lfs !== undefined) await layLfsContents({ ...laid, oids: new Set(lfs.oids), fileOf: lfs.fileOf });
}

/** Files with other contents are another template; without any it is the one that it always was. */
export function contentsKey(lfs: LfsContents | undefined): string | undefined {
  if (lfs === undefined || lfs.oids.length === 0) return undefined;
  return createHash('sha256').update(lfs.oids.toSorted().join()).digest('hex');
}
