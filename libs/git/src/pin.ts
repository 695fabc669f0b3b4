import { dirname, join } from 'node:path';
import { FarmError } from '#contracts';
import { syncToDisk } from './folders.js';
import { git } from './git.js';
import { type Oid, requireOid } from './oid.js';
import { holdsCommit, type ObjectStore } from './store.js';

export interface Pin {
  /** `accepted`: what `prepare` offers to a transaction. `rescue`: late or unfinished work (H10). `own`: the agent's own commits. */
  readonly kind: 'accepted' | 'rescue' | 'own';
  readonly job: string;
  readonly epoch: number;
  readonly commit: Oid;
}

/**
 * Pins a commit under its job and epoch, write-once: `refs/longshore/<kind>/<job>/<epoch>/<commit>`. Doing it again is the same
 * act. Without a row that names it a pin means nothing (D20). On disk before it returns (H4).
 *
 * @returns the ref
 * @throws FarmError `not_found` when the store does not hold the commit
 */
export async function pin(store: ObjectStore, what: Pin): Promise<string> {
  const commit = requireOid(what.commit);
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(what.job) || !Number.isSafeInteger(what.epoch) || what.epoch < 0) {
    throw new FarmError('invalid_input', 'A pin needs a job id and an epoch.');
  }
  const ref = `refs/longshore/${what.kind}/${what.job}/${what.epoch}/${commit}`;
  const made = await git(['update-ref', '--stdin', '-z'], {
    gitDir: store.dir,
    input: `create ${ref}\0${commit}\0`,
    accept: 'any',
  });
  // lost to a twin or made before: the name holds the id, so there is nothing else that it could say
  if (made.exitCode !== 0 && (await pinnedAt(store, ref)) !== commit) {
    if (!(await holdsCommit(store.dir, commit)))
      throw new FarmError('not_found', 'The store does not hold this commit.');
    throw new FarmError('internal', 'The pin could not be written.', { cause: new Error(made.stderr.slice(-1024)) });
  }
  // git syncs the ref's file, not the folders that name it
  for (let folder = dirname(join(store.dir, ref)); folder !== store.dir; folder = dirname(folder))
    await syncToDisk(folder);
  return ref;
}

async function pinnedAt(store: ObjectStore, ref: string): Promise<string> {
  return (await git(['rev-parse', '--verify', '--quiet', ref], { gitDir: store.dir, accept: 'any' })).text;
}
