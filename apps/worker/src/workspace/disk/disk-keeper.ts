import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { limits } from '#contracts';
import type { EventLines } from '../../event-lines.js';
import { faultOf, type Log } from '../../log.js';
import { lookForRoom } from '../disk-room.js';
import { readLayerNote } from '../layers/layer-note.js';
import type { WorkerHome } from '../worker-home.js';
import type { Workspaces } from '../workspaces.js';

interface KeeperNeeds {
  readonly home: WorkerHome;
  readonly workspaces: Workspaces;
  /** Bytes that the disk keeps free; below it no work is taken. */
  readonly floorBytes: number;
  /** Bytes that templates, repositories and kept workspaces may take together. */
  readonly budgetBytes: number;
  readonly log: Log;
  readonly line: EventLines;
  /** Wall time, ms: compared with times of files. */
  readonly now?: () => number;
}

/** Something that may go. */
interface Leftover {
  readonly what: 'kept' | 'bundle' | 'lfs' | 'template' | 'repository';
  readonly key: string;
  readonly bytes: number;
  readonly usedAt: number;
  /** False: it came into use meanwhile and stays. */
  readonly remove: () => Promise<unknown>;
}

/**
 * Keeps the worker's disk within its bounds: what nobody used for long goes by age; over the budget, or short of the floor, the
 * longest unused go first, kept workspaces before the layers that all share. Never what a workspace stands on, live, kept or set
 * aside. When all of it did not help, the worker takes no new work and says so.
 */
export class DiskKeeper {
  private shortOf: 'bytes' | 'inodes' | undefined;
  private sweeping: Promise<void> | undefined;

  constructor(private readonly needs: KeeperNeeds) {}

  /** Why no work is taken now; nothing where there is room. */
  get short(): 'bytes' | 'inodes' | undefined {
    return this.shortOf;
  }

  /** Sweeps and looks; once at a time, whoever asks. Never throws. */
  look(): Promise<void> {
    this.sweeping ??= this.lookNow()
      .catch((error: unknown) => this.needs.log.warn({ fault: faultOf(error) }, 'the disk could not be looked at'))
      .finally(() => {
        this.sweeping = undefined;
      });
    return this.sweeping;
  }

  private async lookNow(): Promise<void> {
    const now = this.needs.now?.() ?? Date.now();
    const left: Leftover[] = [];
    for (const one of await this.leftovers()) {
      if (now - one.usedAt > unusedMs[one.what]) await this.drop(one, 'age');
      else left.push(one);
    }
    let bytes = left.reduce((sum, one) => sum + one.bytes, 0);
    for (const one of left.toSorted(firstToGo)) {
      const over = bytes > this.needs.budgetBytes;
      if (!over && !(await this.isShort())) break;
      await this.drop(one, over ? 'budget' : 'room');
      bytes -= one.bytes;
    }
    this.tell((await this.room()).short);
  }

  /** What nothing stands on. A template that its last kept workspace leaves may go at the next look. */
  private async leftovers(): Promise<readonly Leftover[]> {
    const { kept, layers } = this.needs.workspaces;
    const used = await this.used();
    const all = [
      ...(await kept.list()).map((one) => ({ ...one, what: 'kept' as const, remove: () => kept.remove(one.key) })),
      ...(await layers.templates.list())
        .filter(({ key }) => !used.has(key))
        .map((one) => ({ ...one, what: 'template' as const, remove: () => layers.templates.remove(one.key) })),
      ...(await layers.repositories.list())
        .filter(({ key }) => !used.has(key))
        .map((one) => ({ ...one, what: 'repository' as const, remove: () => layers.repositories.remove(one.key) })),
      ...(await filesIn(this.needs.home.bundles, 'bundle', /\.bundle$/)),
      ...(await filesIn(this.needs.home.lfs, 'lfs', /^[0-9a-f]{64}$/)),
    ];
    return all;
  }

  /** Keys that some workspace stands on. Kept ones are read twice: one that moves meanwhile is seen here or there. */
  private async used(): Promise<ReadonlySet<string>> {
    const { kept, workspaces, rescue } = this.needs.home;
    const keys = new Set<string>();
    for (const parent of [kept, workspaces, rescue, kept]) {
      for (const name of await readdir(parent)) {
        const note = await readLayerNote(join(parent, name));
        for (const key of [note?.repository, note?.template]) if (key !== undefined) keys.add(key);
      }
    }
    return keys;
  }

  private async drop({ what, key, bytes, remove }: Leftover, why: 'age' | 'budget' | 'room'): Promise<void> {
    try {
      if ((await remove()) === false) return;
      this.needs.line('dropped', { what, key, bytes, why });
    } catch (error) {
      this.needs.log.warn({ what, key, fault: faultOf(error) }, 'something unused could not be removed');
    }
  }

  private async isShort(): Promise<boolean> {
    return (await this.room()).short !== undefined;
  }

  private room(): ReturnType<typeof lookForRoom> {
    return lookForRoom(this.needs.home.path, this.needs.floorBytes);
  }

  private tell(short: 'bytes' | 'inodes' | undefined): void {
    if (short === this.shortOf) return;
    this.shortOf = short;
    const { line, log } = this.needs;
    line('disk', { short: short ?? null });
    if (short === undefined) log.info('the disk has room again; work is taken');
    else log.warn({ short }, "the worker's disk is short: it takes no new work until somebody makes room");
  }
}

/** A whole one that a repository was made of is needed no more; one that is under way is left. */
async function filesIn(folder: string, what: 'bundle' | 'lfs', named: RegExp): Promise<readonly Leftover[]> {
  const names = (await readdir(folder)).filter((name) => named.test(name));
  return Promise.all(
    names.map(async (key) => {
      const path = join(folder, key);
      const seen = await stat(path).catch(() => undefined);
      const remove = (): Promise<void> => rm(path, { force: true });
      return { what, key, bytes: seen?.size ?? 0, usedAt: seen?.mtimeMs ?? 0, remove };
    }),
  );
}

const unusedMs: Readonly<Record<Leftover['what'], number>> = {
  kept: limits.keptWorkspaceMs,
  bundle: limits.keptWorkspaceMs,
  lfs: limits.keptWorkspaceMs,
  template: limits.templateUnusedMs,
  repository: limits.templateUnusedMs,
};

function firstToGo(a: Leftover, b: Leftover): number {
  const shared = ({ what }: Leftover): number => (['bundle', 'lfs', 'kept'].includes(what) ? 0 : 1);
  return shared(a) - shared(b) || a.usedAt - b.usedAt;
}
