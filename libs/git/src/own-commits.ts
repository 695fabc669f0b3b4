import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import { git, gitToFile } from './git.js';
import type { GitLimits } from './git-limits.js';
import { isOid, type Oid } from './oid.js';
import { alternate, indexPack, inQuarantine } from './quarantine.js';

interface OwnCommitsAsked {
  /** A folder with a `.git` that an agent could write. */
  readonly dir: string;
  /** Ours; takes the objects. */
  readonly gitDir: string;
  /** Only commits that descend from it are taken, and only what is new since. None: the whole history. */
  readonly since?: Oid;
  readonly limits: GitLimits;
}

export type OwnCommits =
  | { readonly kind: 'none' }
  | { readonly kind: 'taken'; readonly head: Oid }
  | { readonly kind: 'left'; readonly reason: string };

/**
 * Brings the commits of an agent's repository into ours, so that their messages are not lost. The agent's `.git` is read as
 * data: no git runs in it, no configuration, hook or link of it counts, and its objects pass the same checks as a stranger's
 * pack. What does not pass is left, with the reason; the files themselves are captured anyway.
 */
export async function takeOwnCommits(asked: OwnCommitsAsked): Promise<OwnCommits> {
  const { gitDir, limits, since } = asked;
  const dotGit = join(asked.dir, '.git');
  const objects = join(dotGit, 'objects');
  if (!(await isPlainFolder(dotGit))) return { kind: 'none' };
  const head = await headOf(dotGit);
  if (head === undefined || head === since) return { kind: 'none' };
  if (!(await isOwnObjectFolder(objects))) return { kind: 'left', reason: 'Its objects are not all its own.' };
  try {
    return await inQuarantine(gitDir, join(gitDir, 'quarantine'), async (quarantine) => {
      const reader = { gitDir, limits, durable: false, env: { GIT_ALTERNATE_OBJECT_DIRECTORIES: alternate(objects) } };
      if (since !== undefined) {
        const descends = await git(['merge-base', '--is-ancestor', since, head], { ...reader, accept: 'any' });
        if (descends.exitCode !== 0) return { kind: 'left', reason: 'Its head does not descend from the base.' };
      }
      const pack = join(quarantine.folder, 'own.pack');
      const revisions = since === undefined ? `${head}\n` : `${head}\n^${since}\n`;
      await gitToFile(
        ['pack-objects', '--quiet', '--revs', '--delta-base-offset', '--stdout'],
        { ...reader, input: revisions },
        { path: pack, maxBytes: limits.packBytes },
      );
      await indexPack({
        gitDir,
        quarantine,
        pack,
        thin: true,
        maxBytes: limits.packBytes,
        maxObjects: limits.packObjects,
        maxInflatedBytes: limits.packInflatedBytes,
        code: 'commit_refused',
        limits,
        durable: false,
      });
      await git(['rev-list', '--objects', '--quiet', head, ...(since === undefined ? [] : [`^${since}`])], {
        gitDir,
        limits,
        env: quarantine.withRepository,
      });
      await quarantine.admit();
      return { kind: 'taken', head };
    });
  } catch (fault) {
    if (fault instanceof FarmError && fault.code === 'disk_full') throw fault;
    return { kind: 'left', reason: fault instanceof FarmError ? fault.detail : 'They could not be read.' };
  }
}

/** The commit at HEAD, read from plain files only. */
async function headOf(dotGit: string): Promise<Oid | undefined> {
  const head = await readSmall(dotGit, ['HEAD']);
  if (head === undefined || isOid(head)) return head;
  const ref = /^ref: (refs\/heads\/[^\0\n]{1,1024})$/.exec(head)?.[1];
  if (ref === undefined || ref.split('/').some((part) => ['', '.', '..'].includes(part))) return undefined;
  const loose = await readSmall(dotGit, ref.split('/'));
  if (loose !== undefined) return isOid(loose) ? loose : undefined;
  const packed = await readSmall(dotGit, ['packed-refs']);
  return packed
    ?.split('\n')
    .map((line) => line.split(' ', 2))
    .find(([, name]) => name === ref)?.[0];
}

const smallBytes = 16 * 1024 * 1024;

async function readSmall(root: string, parts: readonly string[]): Promise<string | undefined> {
  let path = root;
  for (const [at, part] of parts.entries()) {
    path = join(path, part);
    const seen = await lstat(path).catch(() => undefined);
    const expected = at === parts.length - 1 ? seen?.isFile() : seen?.isDirectory();
    if (expected !== true || (seen?.size ?? 0) > smallBytes) return undefined;
  }
  return (await readFile(path, 'utf8').catch(() => undefined))?.trim();
}

async function isPlainFolder(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isDirectory() === true;
}

/** Most files that an object folder may have: 256 folders of loose objects and the packs. */
const objectFilesMost = 2_000_000;

/**
 * False when an object folder borrows or links: through an alternate or a symlink the agent could make us pack objects that it
 * may not read (H19, H29).
 */
async function isOwnObjectFolder(objects: string): Promise<boolean> {
  const waiting = [objects];
  let seen = 0;
  if (!(await isPlainFolder(objects))) return false;
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      seen += 1;
      if (seen > objectFilesMost) return false;
      if (entry.isDirectory()) waiting.push(join(folder, entry.name));
      else if (!entry.isFile() || /alternates$/.test(entry.name)) return false;
    }
  }
  return true;
}
