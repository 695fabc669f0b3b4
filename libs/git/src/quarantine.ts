import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError, type FarmErrorCode } from '#contracts';
import { syncToDisk } from './folders.js';
import { git, gitLines } from './git.js';
import { type GitLimits, gitLimits } from './git-limits.js';

/** A place where a stranger's pack is unpacked and judged. Nothing of it is in the repository until `admit` (H31). */
export interface Quarantine {
  readonly folder: string;
  /** Sees what came in the pack and nothing else. */
  readonly alone: Readonly<Record<string, string>>;
  /** Sees the repository's objects too. New objects go to the quarantine. */
  readonly withRepository: Readonly<Record<string, string>>;
  /** Puts packs on disk that git has not. */
  makeLasting(): Promise<void>;
  /** Moves everything into the repository, on disk before it returns (H4). */
  admit(): Promise<void>;
}

/** Whoever opened it removes it. */
export interface OpenQuarantine extends Quarantine {
  remove(): Promise<void>;
}

export async function inQuarantine<T>(
  gitDir: string,
  parent: string,
  work: (quarantine: Quarantine) => Promise<T>,
): Promise<T> {
  const quarantine = await openQuarantine(gitDir, parent);
  try {
    return await work(quarantine);
  } finally {
    await quarantine.remove();
  }
}

export async function openQuarantine(gitDir: string, parent: string): Promise<OpenQuarantine> {
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, 'tmp-'));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const objects = join(folder, 'objects');
  try {
    await mkdir(join(objects, 'pack'), { recursive: true });
    await mkdir(join(objects, 'info'));
  } catch (fault) {
    await remove();
    throw fault;
  }
  const alone = { GIT_OBJECT_DIRECTORY: objects };
  return {
    folder,
    alone,
    withRepository: { ...alone, GIT_ALTERNATE_OBJECT_DIRECTORIES: alternate(join(gitDir, 'objects')) },
    makeLasting: () => syncPacks(join(objects, 'pack')),
    admit: () => admitPacks(join(objects, 'pack'), join(gitDir, 'objects', 'pack')),
    remove,
  };
}

/** One entry of GIT_ALTERNATE_OBJECT_DIRECTORIES; quoted, because a colon would part it in two. */
export function alternate(objects: string): string {
  return `"${objects.replaceAll(/["\\]/g, (found) => `\\${found}`)}"`;
}

export interface PackIntake {
  readonly gitDir: string;
  readonly quarantine: Quarantine;
  readonly pack: string;
  /** Where the pack starts in the file. */
  readonly offset?: number;
  /** A thin pack is completed from the repository; a source must stand alone. */
  readonly thin: boolean;
  readonly maxBytes: number;
  readonly maxObjects: number;
  /** None: only the single objects are held to memory and time. */
  readonly maxInflatedBytes?: number;
  /** Default true: fsck of every object, and all links must lead somewhere. False only for what our controller sends. */
  readonly strict?: boolean;
  /** fsck messages that are let pass, for old histories. */
  readonly tolerated?: readonly string[];
  readonly code: FarmErrorCode;
  readonly limits: GitLimits;
  readonly durable?: boolean;
}

/**
 * Indexes a pack in quarantine: damaged, unsafe, oversize and unconnected ones are refused by name.
 *
 * @throws FarmError of the given code; `disk_full`, `timeout`
 */
export async function indexPack(intake: PackIntake): Promise<void> {
  const refuse = (why: string): FarmError => new FarmError(intake.code, why);
  const { size } = await stat(intake.pack);
  if (size - (intake.offset ?? 0) > intake.maxBytes) throw refuse('The pack is larger than its limit.');
  const announced = await announcedObjects(intake.pack, intake.offset ?? 0);
  if (announced === undefined) throw refuse('The pack is truncated or damaged.');
  if (announced > intake.maxObjects) throw refuse('The pack holds more objects than its limit.');

  const thin = intake.thin ? ['--fix-thin'] : [];
  const answer = await git(
    ['index-pack', '--stdin', ...thin, ...checksOf(intake), `--max-input-size=${intake.maxBytes}`],
    {
      gitDir: intake.gitDir,
      env: intake.thin ? intake.quarantine.withRepository : intake.quarantine.alone,
      input: createReadStream(intake.pack, { start: intake.offset ?? 0 }),
      accept: 'any',
      limits: intake.limits,
      durable: intake.durable ?? true,
    },
  );
  if (answer.exitCode !== 0) throw refuse(reasonOf(answer.stderr));
  if (intake.maxInflatedBytes === undefined) return;
  const inflated = await inflatedBytes(intake);
  if (inflated > intake.maxInflatedBytes) throw refuse('The pack inflates to more than its limit.');
}

function checksOf(intake: PackIntake): readonly string[] {
  if (intake.strict === false) return [];
  const tolerated = (intake.tolerated ?? []).map((name) => `${name}=ignore`).join();
  return [tolerated === '' ? '--strict' : `--strict=${tolerated}`];
}

/** The object count of the pack's header: a claim that index-pack holds it to, so it may be judged before any work. */
async function announcedObjects(pack: string, offset: number): Promise<number | undefined> {
  const handle = await open(pack, 'r');
  try {
    const header = Buffer.alloc(12);
    const { bytesRead } = await handle.read(header, 0, 12, offset);
    if (bytesRead < 12 || header.toString('latin1', 0, 4) !== 'PACK') return undefined;
    return header.readUInt32BE(8);
  } finally {
    await handle.close();
  }
}

async function inflatedBytes(intake: PackIntake): Promise<number> {
  let sum = 0;
  const sizes = gitLines(
    ['cat-file', '--batch-all-objects', '--unordered', '--buffer', '--batch-check=%(objectsize)'],
    {
      gitDir: intake.gitDir,
      env: intake.quarantine.alone,
      limits: intake.limits,
    },
  );
  for await (const size of sizes) sum += Number(size);
  return sum;
}

const reasons: readonly (readonly [RegExp, string])[] = [
  [/hasDotgit/, 'A tree in the pack holds a .git.'],
  [/hasDotdot|hasDot\b|fullPathname|emptyName/, 'A tree in the pack has an entry with an unsafe name.'],
  [/exceeds maximum allowed size/, 'The pack is larger than its limit.'],
  [/out of memory|cannot allocate|mmap failed|malloc/i, 'The pack inflates to more than its limit.'],
  [
    /unresolved delta|did not receive expected|broken link|missing|Could not read|unable to find|object of unexpected type/i,
    'The pack is not connected: objects that it needs are not there.',
  ],
  [
    /early EOF|unexpected end|premature|corrupt|garbage|mismatch|inflate|signature|bad object|used more bytes|not a pack/i,
    'The pack is truncated or damaged.',
  ],
];

/** git's words are for its log; the sender is told which rule was broken, never a path or an id. */
function reasonOf(stderr: string): string {
  const known = reasons.find(([pattern]) => pattern.test(stderr));
  if (known !== undefined) return known[1];
  const fsck = /: ([a-z][a-zA-Z]{3,40}): /.exec(stderr);
  return fsck === null ? 'The pack is truncated or damaged.' : `An object in the pack does not pass fsck (${fsck[1]}).`;
}

async function packFiles(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => /^pack-[0-9a-f]+\.(pack|rev|idx)$/.test(name));
}

async function syncPacks(folder: string): Promise<void> {
  await Promise.all((await packFiles(folder)).map((name) => syncToDisk(join(folder, name))));
}

async function admitPacks(from: string, to: string): Promise<void> {
  // a pack is seen by its .idx, so that goes last
  const isIndex = (name: string): boolean => name.endsWith('.idx');
  const names = await packFiles(from);
  await mkdir(to, { recursive: true });
  const move = (name: string) => rename(join(from, name), join(to, name));
  await Promise.all(names.filter((name) => !isIndex(name)).map(move));
  await Promise.all(names.filter(isIndex).map(move));
  await Promise.all([to, join(to, '..')].map(syncToDisk));
}

/**
 * Room for a pack: the disk's floor and the Task's quota (H31), asked before any byte is written.
 *
 * @throws FarmError `disk_full` · the given code when the Task is over its quota
 */
export async function checkRoom(
  gitDir: string,
  incoming: number,
  changed: Partial<GitLimits>,
  code: FarmErrorCode,
): Promise<void> {
  const limits = gitLimits(changed);
  const disk = await statfs(gitDir);
  if (disk.bavail * disk.bsize - 2 * incoming < limits.diskFloorBytes) {
    throw new FarmError('disk_full', 'The disk of the store has too little space left.', {
      hint: 'Free some space, then try again.',
    });
  }
  const packs = join(gitDir, 'objects', 'pack');
  let held = incoming;
  for (const name of await readdir(packs)) held += (await stat(join(packs, name))).size;
  if (held > limits.storeBytes) throw new FarmError(code, 'The Task holds as much as its quota allows.');
}
