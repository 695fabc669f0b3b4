import type { Dirent, Stats } from 'node:fs';
import { chmod, lstat, readdir } from 'node:fs/promises';
import { FarmError, systemCodeOf } from '#contracts';
import { type BytePath, bytesOf, foldersOf, fromBytes, fromText, joined, joinPaths, splitPaths } from './byte-path.js';
import { git } from './git.js';
import type { GitLimits } from './git-limits.js';
import { isUnsafeName } from './unsafe-name.js';

export interface Scan {
  /** Regular files and symlinks to take, in no order. */
  readonly taken: readonly BytePath[];
  /** Folders below the root that hold a `.git` of their own. */
  readonly nested: readonly BytePath[];
  /** Folders that stand where the base has a link to a submodule; not entered. */
  readonly links: readonly BytePath[];
  /** What no tree can hold. */
  readonly skipped: readonly { readonly path: BytePath; readonly reason: SkipReason }[];
  readonly ignored: IgnoredContent;
}

export type SkipReason = 'fifo' | 'socket' | 'device' | 'unsafe_name';

export interface IgnoredContent {
  readonly files: number;
  readonly bytes: number;
  /** Counting stopped at the limit of objects. */
  readonly more: boolean;
}

interface ScanAsked {
  /** The root of the work tree. */
  readonly dir: string;
  /** Ours, for the ignore rules; never the workspace's own. */
  readonly gitDir: string;
  /** Size of each file of the base; these and `known` are taken though an ignore rule names them. */
  readonly base: ReadonlyMap<BytePath, number>;
  readonly links: ReadonlySet<BytePath>;
  readonly known: ReadonlySet<BytePath>;
  /** Files or folders that are taken even when ignored (H20). */
  readonly include: readonly BytePath[];
  /** The folder that is left out, but for what `include` names (H21). */
  readonly taskDirectory: BytePath | undefined;
  readonly limits: GitLimits;
}

/** How a folder's entries are treated: by the ignore rules, or left unless they are wanted by name. */
interface Folder {
  readonly path: BytePath;
  readonly rule: 'ask' | 'ignored' | 'left_out';
}

/**
 * Looks at every name of a work tree and decides what a capture takes. Follows no symlink, enters no `.git`, runs nothing, and
 * looks at sizes before anything is read (W16).
 *
 * @throws FarmError `workspace_too_large`
 */
export async function scanWorkspace(asked: ScanAsked): Promise<Scan> {
  return new WorkspaceScan(asked).run();
}

class WorkspaceScan {
  private readonly taken: BytePath[] = [];
  private readonly nested: BytePath[] = [];
  private readonly links: BytePath[] = [];
  private readonly skipped: { path: BytePath; reason: SkipReason }[] = [];
  private readonly root: BytePath;
  private readonly include: ReadonlySet<BytePath>;
  /** Folders on the way to something that is wanted by name. */
  private readonly onTheWay: ReadonlySet<BytePath>;
  private ignoredFiles = 0;
  private ignoredBytes = 0;
  private changedBytes = 0;

  constructor(private readonly asked: ScanAsked) {
    this.root = fromText(asked.dir);
    this.include = new Set(asked.include);
    this.onTheWay = new Set(
      [...asked.base.keys(), ...asked.known, ...asked.links, ...asked.include].flatMap(foldersOf),
    );
  }

  async run(): Promise<Scan> {
    let level: readonly Folder[] = [{ path: '', rule: 'ask' }];
    while (level.length > 0) level = await this.nextLevel(level);
    return {
      taken: this.taken,
      nested: this.nested,
      links: this.links,
      skipped: this.skipped,
      ignored: {
        files: this.ignoredFiles,
        bytes: this.ignoredBytes,
        more: this.ignoredFiles >= this.asked.limits.packObjects,
      },
    };
  }

  /** One level of the tree at a time, so that git is asked once per level which of its names are ignored. */
  private async nextLevel(level: readonly Folder[]): Promise<readonly Folder[]> {
    const next: Folder[] = [];
    const undecided: { path: BytePath; folder: boolean }[] = [];
    for (const folder of level) {
      for (const entry of await this.entriesOf(folder)) {
        const name = fromBytes(entry.name);
        const path = joined(folder.path, name);
        if (name === '.git') {
          if (folder.path !== '') this.nested.push(folder.path);
        } else if (isUnsafeName(name)) {
          this.skip(path, 'unsafe_name');
        } else if (entry.isDirectory()) {
          const rule = this.ruleOf(path, folder);
          if (rule === 'link') this.links.push(path);
          else if (rule === 'undecided') undecided.push({ path, folder: true });
          else next.push({ path, rule });
        } else if (entry.isFile() || entry.isSymbolicLink()) {
          if (this.isWanted(path, folder)) await this.take(path);
          else if (folder.rule === 'ask') undecided.push({ path, folder: false });
          else if (folder.rule === 'ignored') await this.countIgnored(path);
        } else if (folder.rule === 'ask') {
          this.skip(path, entry.isFIFO() ? 'fifo' : entry.isSocket() ? 'socket' : 'device');
        }
      }
    }
    const ignored = await this.ignoredAmong(undecided.map(({ path }) => path));
    for (const { path, folder } of undecided) {
      if (folder) next.push({ path, rule: ignored.has(path) ? 'ignored' : 'ask' });
      else if (ignored.has(path)) await this.countIgnored(path);
      else await this.take(path);
    }
    return next.filter((folder) => this.isEntered(folder));
  }

  private ruleOf(path: BytePath, folder: Folder): Folder['rule'] | 'link' | 'undecided' {
    if (path === this.asked.taskDirectory) return 'left_out';
    if (this.asked.links.has(path)) return 'link';
    return folder.rule === 'ask' ? 'undecided' : folder.rule;
  }

  private isEntered(folder: Folder): boolean {
    if (folder.rule === 'ask' || this.isIncluded(folder.path) || this.onTheWay.has(folder.path)) return true;
    // an ignored folder is walked only to say how much stays behind
    return folder.rule === 'ignored' && this.ignoredFiles < this.asked.limits.packObjects;
  }

  private isWanted(path: BytePath, folder: Folder): boolean {
    if (this.isIncluded(path)) return true;
    return folder.rule !== 'left_out' && (this.asked.base.has(path) || this.asked.known.has(path));
  }

  private isIncluded(path: BytePath): boolean {
    return (
      this.include.size > 0 && (this.include.has(path) || foldersOf(path).some((folder) => this.include.has(folder)))
    );
  }

  private async take(path: BytePath): Promise<void> {
    const seen = await this.seen(path);
    if (seen === undefined) return;
    // an agent that took its own right to read away loses nothing
    if (seen.isFile() && (seen.mode & 0o400) === 0) await chmod(this.absolute(path), (seen.mode & 0o777) | 0o400);
    if (this.asked.base.get(path) !== seen.size) this.changedBytes += seen.size;
    this.taken.push(path);
    const { workspaceBytes, packObjects } = this.asked.limits;
    if (this.changedBytes > workspaceBytes)
      throw tooLarge(`more than ${Math.floor(workspaceBytes / 1024 ** 2)} MiB of new files`);
    if (this.taken.length - this.asked.base.size > packObjects) throw tooLarge(`more than ${packObjects} new files`);
  }

  private async countIgnored(path: BytePath): Promise<void> {
    if (this.ignoredFiles >= this.asked.limits.packObjects) return;
    this.ignoredFiles += 1;
    this.ignoredBytes += (await this.counted(path))?.size ?? 0;
  }

  private skip(path: BytePath, reason: SkipReason): void {
    this.skipped.push({ path, reason });
  }

  private async entriesOf({ path, rule }: Folder): Promise<readonly Dirent<Buffer>[]> {
    const folder = this.absolute(path);
    const seen = await (rule === 'ignored' ? this.counted(path) : this.seen(path));
    if (seen?.isDirectory() !== true) {
      // a work tree that is gone, or led elsewhere, is not one whose every file was deleted
      if (path === '') throw new Error('there is no work tree');
      return [];
    }
    if ((seen.mode & 0o500) !== 0o500) await chmod(folder, (seen.mode & 0o777) | 0o700);
    return readdir(folder, { encoding: 'buffer', withFileTypes: true });
  }

  /** Undefined: gone since its folder was read. What can not be looked at for another reason is not gone. */
  private async seen(path: BytePath): Promise<Stats | undefined> {
    try {
      return await lstat(this.absolute(path));
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  /** What stays behind is only counted, as far as it can be. */
  private async counted(path: BytePath): Promise<Stats | undefined> {
    return this.seen(path).catch(() => undefined);
  }

  private absolute(path: BytePath): Buffer {
    return bytesOf(path === '' ? this.root : `${this.root}/${path}`);
  }

  private async ignoredAmong(paths: readonly BytePath[]): Promise<ReadonlySet<BytePath>> {
    if (paths.length === 0) return new Set();
    // the one command without literal pathspecs: a leading colon would be magic
    const answer = await git(['check-ignore', '--no-index', '-z', '--stdin'], {
      gitDir: this.asked.gitDir,
      workTree: this.asked.dir,
      cwd: this.asked.dir,
      env: { GIT_LITERAL_PATHSPECS: '0' },
      input: joinPaths(paths.map((path) => `./${path}`)),
      accept: [0, 1],
      limits: this.asked.limits,
    });
    return new Set(splitPaths(answer.stdout).map((path) => path.slice('./'.length)));
  }
}

function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(systemCodeOf(error) ?? '');
}

function tooLarge(what: string): FarmError {
  return new FarmError('workspace_too_large', `The workspace holds ${what}; it stays where it is.`, {
    hint: 'Delete or ignore (.gitignore) what is not part of the work, then try again.',
  });
}
