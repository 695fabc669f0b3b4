import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FarmError } from '#contracts';
import { syncToDisk } from './folders.js';
import { diskFull } from './git.js';
import { type Oid, requireOid } from './oid.js';
import type { ObjectStore } from './store.js';

export interface Pin {
  /** `accepted`: what `prepare` offers to a transaction. `rescue`: late or unfinished work (H10). `own`: the agent's own commits. */
  readonly kind: 'accepted' | 'rescue' | 'own';
  readonly job: string;
  readonly epoch: number;
  /** One that the store holds: what was just taken in or merged there. */
  readonly commit: Oid;
}

/**
 * Pins a commit under its job and epoch, write-once: `refs/longshore/<kind>/<job>/<epoch>/<commit>`. Doing it again is the same
 * act. Without a row that names it a pin means nothing (D20). On disk before it returns (H4). No git is asked: to start one takes
 * longer than all of this, and stops the controller meanwhile.
 *
 * @returns the ref
 * @throws FarmError `disk_full`
 */
export async function pin(store: ObjectStore, what: Pin): Promise<string> {
  const commit = requireOid(what.commit);
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(what.job) || !Number.isSafeInteger(what.epoch) || what.epoch < 0) {
    throw new FarmError('invalid_input', 'A pin needs a job id and an epoch.');
  }
  const ref = `refs/longshore/${what.kind}/${what.job}/${what.epoch}/${commit}`;
  try {
    await write(join(store.dir, ref), commit);
  } catch (fault) {
    throw diskFull(fault) ?? fault;
  }
  await Promise.all(foldersOf(store.dir, ref).map(syncToDisk));
  return ref;
}

/** As git does: under another name, which git takes for a lock, then in one step. A twin writes the same, as the name holds the id. */
async function write(path: string, commit: Oid): Promise<void> {
  const draft = `${path}.${randomUUID()}.lock`;
  await mkdir(dirname(path), { recursive: true });
  try {
    await writeFile(draft, `${commit}\n`, { flag: 'wx', flush: true });
    await rename(draft, path);
  } catch (fault) {
    await rm(draft, { force: true });
    throw fault;
  }
}

/** All of those that name it: any of them may be new. */
function foldersOf(dir: string, ref: string): readonly string[] {
  const parts = ref.split('/').slice(0, -1);
  return parts.map((_, n) => join(dir, ...parts.slice(0, n + 1)));
}
