import { mkdir, readdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import { newId, systemCodeOf } from '#contracts';
import { bytesIn } from '../disk/bytes-in.js';
import { removeFolder } from '../remove-folder.js';
import { unmountBeneath } from './mounts.js';

/** A folder that was made once and is only read since. */
interface Shelved {
  readonly key: string;
  readonly path: string;
}

export interface ShelvedUse extends Shelved {
  readonly bytes: number;
  readonly usedAt: number;
}

export interface Taken extends Shelved {
  /** Made just now, and not found. */
  readonly fresh: boolean;
}

const Note = z.object({ bytes: z.number() });
const noteName = 'shelved.json';
const draftPrefix = 'draft-';

/**
 * Folders by key: each is made in a draft, whole, and comes into its place by one rename; from then on it is frozen. Made once
 * however many ask at the same moment.
 */
export class Shelf {
  private readonly making = new Map<string, { readonly done: Promise<void>; readonly signal: AbortSignal }>();
  private readonly removing = new Map<string, Promise<void>>();
  private readonly pins = new Map<string, number>();

  constructor(private readonly folder: string) {}

  /**
   * Works with what stands under the key, made first where it does not stand. While `work` runs nothing removes it; by its end
   * the user's own note of it must be on disk.
   *
   * @throws what `make` and `work` throw · the abort's reason
   */
  async use<T>(
    key: string,
    make: (draft: string) => Promise<void>,
    signal: AbortSignal,
    work: (taken: Taken) => Promise<T>,
  ): Promise<T> {
    this.pin(key, 1);
    try {
      const fresh = await this.ensure(key, make, signal);
      return await work({ key, path: this.pathOf(key), fresh });
    } finally {
      this.pin(key, -1);
    }
  }

  pathOf(key: string): string {
    return join(this.folder, key);
  }

  /** What stands here. Drafts are not listed. */
  async list(): Promise<readonly ShelvedUse[]> {
    const keys = (await readdir(this.folder)).filter((name) => !name.startsWith(draftPrefix));
    return Promise.all(
      keys.map(async (key) => {
        const path = this.pathOf(key);
        const note = join(path, noteName);
        const [text, seen] = await Promise.all([
          readFile(note, 'utf8').catch(() => ''),
          stat(note).catch(() => undefined),
        ]);
        return { key, path, bytes: bytesOf(text), usedAt: seen?.mtimeMs ?? 0 };
      }),
    );
  }

  /** Drafts of a process that died. Only before the first use. */
  async dropDrafts(): Promise<void> {
    for (const name of await readdir(this.folder))
      if (name.startsWith(draftPrefix)) await removeFolder(join(this.folder, name));
  }

  /** Leaves what is in use in this process. Whoever comes meanwhile waits and makes it anew. */
  async remove(key: string): Promise<boolean> {
    // no await between the look and the note: a use either came before or sees it
    if (this.pins.has(key)) return false;
    const removal = this.takeAway(key).finally(() => this.removing.delete(key));
    this.removing.set(key, removal);
    await removal;
    return true;
  }

  private async takeAway(key: string): Promise<void> {
    const gone = join(this.folder, `${draftPrefix}${newId()}`);
    await unmountBeneath(this.pathOf(key));
    try {
      await rename(this.pathOf(key), gone);
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOENT') throw error;
    }
    await removeFolder(gone);
  }

  private async ensure(key: string, make: (draft: string) => Promise<void>, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      await orAborted(
        this.removing.get(key)?.catch(() => undefined),
        signal,
      );
      const stands = await this.touch(key);
      signal.throwIfAborted();
      if (stands) return false;
      const running = this.making.get(key);
      if (running === undefined) {
        const done = this.make(key, make).finally(() => this.making.delete(key));
        this.making.set(key, { done, signal });
        await done;
        return true;
      }
      const made = running.done.catch((error: unknown) => {
        // it ended with their Dispatch: now it is ours to make; what failed by itself fails for all who waited
        if (!running.signal.aborted) throw error;
      });
      await orAborted(made, signal);
    }
  }

  private async make(key: string, make: (draft: string) => Promise<void>): Promise<void> {
    const draft = join(this.folder, `${draftPrefix}${newId()}`);
    try {
      await mkdir(draft, { recursive: true, mode: 0o700 });
      await make(draft);
      await writeFile(join(draft, noteName), JSON.stringify({ bytes: await bytesIn(draft) }));
      // all workspaces to come stand on it: after a power cut it is whole or not there
      await execa('sync', ['-f', draft], { stdio: 'ignore', reject: false });
      await rename(draft, this.pathOf(key));
    } catch (error) {
      await removeFolder(draft);
      throw error;
    }
  }

  private pin(key: string, by: 1 | -1): void {
    const count = (this.pins.get(key) ?? 0) + by;
    if (count > 0) this.pins.set(key, count);
    else this.pins.delete(key);
  }

  /** Whether it stands; then it counts as used now. */
  private async touch(key: string): Promise<boolean> {
    const now = new Date();
    return utimes(join(this.pathOf(key), noteName), now, now).then(
      () => true,
      () => false,
    );
  }
}

/** What others do goes on when the one who waits for it is called off. @throws the abort's reason · what was waited for */
async function orAborted(others: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    const end = (): void => reject(signal.reason);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true, signal: over.signal });
  });
  try {
    await Promise.race([aborted, others]);
  } finally {
    over.abort();
  }
}

function bytesOf(text: string): number {
  try {
    return Note.safeParse(JSON.parse(text)).data?.bytes ?? 0;
  } catch {
    return 0;
  }
}
