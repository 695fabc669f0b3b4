import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { FarmError } from '#contracts';
import { diskFull, git } from './git.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import { type Oid, requireOid } from './oid.js';
import { checkRoom, indexPack, inQuarantine, type Quarantine } from './quarantine.js';
import { holdsCommit, type ObjectStore } from './store.js';

export interface PackOffered {
  /** A file, or the bytes as they come. */
  readonly pack: string | Readable;
  /** The pinned base of the job. */
  readonly base: Oid;
  /** The captured commit that the sender names. */
  readonly commit: Oid;
  /** Further commits that must be in the pack: the agent's own, notes. They may have any parents that are there. */
  readonly extra?: readonly Oid[];
  readonly limits?: Partial<GitLimits>;
}

/**
 * Takes a worker's pack into the store: unpacked and judged in quarantine, then moved, on disk before it returns (H4, H31).
 * On refusal nothing enters the store. Safe to repeat.
 *
 * The commit must be in the pack itself, so that nobody claims a commit of somebody else; its sole parent is the base; its
 * objects pass fsck strictly, which refuses `.git`, `..` and the like in a tree; and everything it needs is there (H5).
 *
 * @throws FarmError `commit_refused` naming the reason · `disk_full` · `timeout`
 */
export async function intakePack(store: ObjectStore, offered: PackOffered): Promise<{ readonly commit: Oid }> {
  const limits = gitLimits(offered.limits);
  const base = requireOid(offered.base);
  const commit = requireOid(offered.commit);
  const extra = (offered.extra ?? []).map(requireOid);
  if (!(await holdsCommit(store.dir, base))) throw refused('The base of the commit is not in the store.');

  return inQuarantine(store.dir, join(store.dir, 'quarantine'), async (quarantine) => {
    await checkRoom(store.dir, 0, limits, 'commit_refused');
    const pack = await asFile(offered.pack, join(quarantine.folder, 'incoming.pack'), limits.packBytes);
    await checkRoom(store.dir, (await stat(pack)).size, limits, 'commit_refused');
    await indexPack({
      gitDir: store.dir,
      quarantine,
      pack,
      thin: true,
      maxBytes: limits.packBytes,
      maxObjects: limits.packObjects,
      maxInflatedBytes: limits.packInflatedBytes,
      code: 'commit_refused',
      limits,
    });
    await checkCommit(store, quarantine, { base, commit, extra, limits });
    await quarantine.admit();
    return { commit };
  });
}

const refused = (why: string): FarmError => new FarmError('commit_refused', why);

async function asFile(pack: string | Readable, path: string, maxBytes: number): Promise<string> {
  if (typeof pack === 'string') return pack;
  let bytes = 0;
  const meter = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw refused('The pack is larger than its limit.');
      yield chunk;
    }
  };
  try {
    await pipeline(pack, meter, createWriteStream(path, { flags: 'wx' }));
  } catch (fault) {
    throw diskFull(fault) ?? fault;
  }
  return path;
}

interface CommitClaimed {
  readonly base: Oid;
  readonly commit: Oid;
  readonly extra: readonly Oid[];
  readonly limits: GitLimits;
}

async function checkCommit(store: ObjectStore, quarantine: Quarantine, claimed: CommitClaimed): Promise<void> {
  for (const oid of [claimed.commit, ...claimed.extra]) {
    if (!(await holdsCommit(store.dir, oid, quarantine.alone)))
      throw refused('The pack does not hold the commit that it is sent for.');
  }
  const parents = await parentsOf(store.dir, claimed.commit, quarantine.alone);
  if (parents.length === 0) throw refused('The commit has no parent; it needs the pinned base.');
  if (parents.length > 1) throw refused('The commit has two parents or more; its only parent must be the pinned base.');
  if (parents[0] !== claimed.base) throw refused('The parent of the commit is not the pinned base.');
  const walk = await git(['rev-list', '--objects', '--quiet', claimed.commit, ...claimed.extra, `^${claimed.base}`], {
    gitDir: store.dir,
    env: quarantine.withRepository,
    accept: 'any',
    limits: claimed.limits,
  });
  if (walk.exitCode !== 0) throw refused('The pack is not connected: objects that it needs are not there.');
}

async function parentsOf(gitDir: string, commit: Oid, env: Readonly<Record<string, string>>): Promise<readonly Oid[]> {
  const body = (await git(['cat-file', 'commit', commit], { gitDir, env })).stdout.toString('latin1');
  const [header = ''] = body.split('\n\n', 1);
  return header.split('\n').flatMap((line) => (line.startsWith('parent ') ? [line.slice('parent '.length)] : []));
}
